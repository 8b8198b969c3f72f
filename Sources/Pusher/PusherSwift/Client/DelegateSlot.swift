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

    /// Reading it makes a copy that may become the last one: return that copy from the lock.
    private(set) weak var delegate: (any PusherDelegate)?
    private(set) var debugLog = DebugLog.unknown
    /// The delegate's identity; nil once it was found gone.
    private var id: ObjectIdentifier?
    /// Whether the delegate may have been kept by nobody: it has not lasted until the client was connected.
    private var isOnTrial = false

    init(_ delegate: (any PusherDelegate)? = nil) {
        self.delegate = delegate
        id = delegate.map { ObjectIdentifier($0) }
        isOnTrial = delegate != nil
    }

    /// Whether a message is worth putting into words. Doesn't touch the delegate, so any thread may ask.
    var wantsDebugLog: Bool { debugLog != .inherited && id != nil }

    /// Looks for the delegate.
    ///
    /// - Parameter lasts: Whether a delegate that is here now counts as kept by the application.
    /// - Returns: `isLost` is true once, if nobody has kept the delegate.
    mutating func find(lasts: Bool) -> (delegate: (any PusherDelegate)?, isLost: Bool) {
        let found = delegate
        if found == nil { id = nil }
        let isLost = isOnTrial && found == nil
        if isLost || lasts { isOnTrial = false }
        return (found, isLost)
    }

    /// What a first call of ``PusherDelegate/debugLog(message:)`` has shown.
    mutating func learn(_ debugLog: DebugLog, of object: any PusherDelegate) {
        if id == ObjectIdentifier(object) { self.debugLog = debugLog }
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
