// These exports make the types in PydioSDK's signatures usable with `import PydioSDK` alone.
@_exported public import Foundation
@_exported public import Logging
@_exported public import PydioProtocol
@_exported public import Realtime
@_exported public import Transport
