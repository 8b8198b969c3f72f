// These exports make the types in PusherSwift's signatures usable with `import PusherSwift` alone.
@_exported public import Foundation
@_exported public import FoundationNetworking
@_exported public import JSONBytes
@_exported public import Logging
@_exported public import PusherProtocol
@_exported public import Realtime
@_exported public import Transport

/// The event type under the name that Pusher clients know.
public typealias PusherEvent = RealtimeEvent
