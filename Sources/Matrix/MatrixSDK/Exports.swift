// `import MatrixSDK` is enough: these imports make the types in its signatures, and in old programs, available.
@_exported public import Foundation
@_exported public import JSONBytes
@_exported public import LinuxCombine
@_exported public import MatrixProtocol
@_exported public import Observation
@_exported public import Realtime
@_exported public import Transport
