// `import PydioSDK` alone is enough: these make the types in its signatures usable.
@_exported public import Foundation
@_exported public import Logging
@_exported public import PydioProtocol
@_exported public import Realtime
@_exported public import Transport
