import Basics
import Realtime

/// A client's weak reference to its delegate.
struct DelegateSlot: Sendable {
    /// Whether the delegate implements ``PusherDelegate/debugLog(message:)`` itself.
    enum DebugLog {
        /// It has not been called yet.
        case unknown
        case own
        /// It has the default, which does nothing, so no messages need to be formatted.
        case inherited
    }

    /// The delegate. Reading it makes a reference that may become the last one: return that reference from the lock.
    private(set) weak var delegate: (any PusherDelegate)?
    private(set) var debugLog = DebugLog.unknown
    /// The delegate's identity; `nil` once it was found released.
    private var id: ObjectIdentifier?
    /// Whether the application may have failed to retain the delegate: the client has not been connected since it was
    /// set.
    private var isOnTrial = false

    init(_ delegate: (any PusherDelegate)? = nil) {
        self.delegate = delegate
        id = delegate.map { ObjectIdentifier($0) }
        isOnTrial = delegate != nil
    }

    /// Whether a message is worth formatting. Doesn't touch the delegate, so any thread may call it.
    var wantsDebugLog: Bool { debugLog != .inherited && id != nil }

    /// Looks up the delegate.
    ///
    /// - Parameter lasts: Whether a delegate that is present now counts as retained by the application.
    /// - Returns: `isLost` is true once, if the application has not retained the delegate.
    mutating func find(lasts: Bool) -> (delegate: (any PusherDelegate)?, isLost: Bool) {
        let found = delegate
        if found == nil { id = nil }
        let isLost = isOnTrial && found == nil
        if isLost || lasts { isOnTrial = false }
        return (found, isLost)
    }

    /// Stores the result of the first call of ``PusherDelegate/debugLog(message:)``.
    mutating func learn(_ debugLog: DebugLog, of object: any PusherDelegate) {
        if id == ObjectIdentifier(object) { self.debugLog = debugLog }
    }
}

/// Detects, in a call of ``PusherDelegate/debugLog(message:)``, whether the delegate only has the default.
final class DebugLogProbe: Sendable {
    @TaskLocal static var current: DebugLogProbe?

    private let delegate: ObjectIdentifier
    private let isInherited = Lock(false)

    init(_ delegate: any PusherDelegate) {
        self.delegate = ObjectIdentifier(delegate)
    }

    /// Called by the default. A delegate may forward the message to others, whose default doesn't count.
    func ranDefault(of object: any PusherDelegate) {
        if ObjectIdentifier(object) == delegate { isInherited.withLock { $0 = true } }
    }

    var result: DelegateSlot.DebugLog { isInherited.withLock { $0 } ? .inherited : .own }
}
