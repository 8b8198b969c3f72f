import Basics
import Realtime

/// Where a client holds its delegate, weakly.
struct DelegateSlot: Sendable {
    /// Whether the delegate has ``PusherDelegate/debugLog(message:)`` of its own.
    enum DebugLog {
        /// It has not been called yet.
        case unknown
        case own
        /// It has the default, which does nothing: nothing needs to be put into words for it.
        case inherited
    }

    private(set) weak var delegate: (any PusherDelegate)?
    private(set) var debugLog = DebugLog.unknown
    /// Whether the delegate may have been kept by nobody: it has not lasted until the client was connected.
    private var isOnTrial = false

    init(_ delegate: (any PusherDelegate)? = nil) {
        self.delegate = delegate
        isOnTrial = delegate != nil
    }

    /// Whether a message is worth putting into words.
    var wantsDebugLog: Bool { debugLog != .inherited && delegate != nil }

    /// Looks for the delegate.
    ///
    /// - Parameter lasts: Whether a delegate that is here now counts as kept by the application.
    /// - Returns: `isLost` is true once, if nobody has kept the delegate.
    mutating func find(lasts: Bool) -> (delegate: (any PusherDelegate)?, isLost: Bool) {
        let found = delegate
        let isLost = isOnTrial && found == nil
        if isLost || lasts { isOnTrial = false }
        return (found, isLost)
    }

    /// What a first call of ``PusherDelegate/debugLog(message:)`` has shown.
    mutating func learn(_ debugLog: DebugLog, of object: any PusherDelegate) {
        if delegate === object { self.debugLog = debugLog }
    }
}

/// Finds out, in a call of ``PusherDelegate/debugLog(message:)``, whether the delegate has only the default.
final class DebugLogProbe: Sendable {
    @TaskLocal static var current: DebugLogProbe?

    private let delegate: ObjectIdentifier
    private let isInherited = Lock(false)

    init(_ delegate: any PusherDelegate) {
        self.delegate = ObjectIdentifier(delegate)
    }

    /// Called by the default. A delegate may pass the message on to others, whose default says nothing of it.
    func ranDefault(of object: any PusherDelegate) {
        if ObjectIdentifier(object) == delegate { isInherited.withLock { $0 = true } }
    }

    var result: DelegateSlot.DebugLog { isInherited.withLock { $0 } ? .inherited : .own }
}
