/// Why a subscription is not granted. The connection stays open.
struct SubscriptionRefusal: Error, Hashable {
    enum Reason: Hashable {
        case unauthorized
        /// Something is too long or there is too much of it; the code is soketi's.
        case limit(Int)
        case malformed

        /// As soketi tells them in `pusher:subscription_error`.
        var typeAndStatus: (type: String, status: Int) {
            switch self {
            case .unauthorized: ("AuthError", 401)
            case .limit(let code): ("LimitReached", code)
            case .malformed: ("ServerError", 4302)
            }
        }
    }

    let reason: Reason
    let message: String
    /// The message without what the client sent as its authorization.
    let summary: String

    /// - Parameter summary: Nil is the message.
    init(_ reason: Reason, _ message: String, summary: String? = nil) {
        self.reason = reason
        self.message = message
        self.summary = summary ?? message
    }
}
