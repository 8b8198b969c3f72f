// The calls of MatrixSDK with callbacks, as programs for Matrix's iOS SDK make them. MatrixSDK itself has `async` methods.
// `import SwiftMatrixSDK` alone is enough: it brings MatrixSDK with it.
@_exported public import MatrixSDK
