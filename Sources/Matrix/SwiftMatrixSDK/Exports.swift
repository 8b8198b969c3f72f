// Callback variants of MatrixSDK's calls, as used by programs for Matrix's iOS SDK. MatrixSDK itself has `async`
// methods. `import SwiftMatrixSDK` is enough: it includes MatrixSDK.
@_exported public import MatrixSDK
