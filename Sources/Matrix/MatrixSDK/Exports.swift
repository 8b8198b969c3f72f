// `import MatrixSDK` alone is enough: these make the types in its signatures, and those in old programs, usable.
@_exported public import Foundation
@_exported public import JSONBytes
@_exported public import LinuxCombine
@_exported public import MatrixProtocol
@_exported public import Observation
@_exported public import Realtime
@_exported public import Transport
