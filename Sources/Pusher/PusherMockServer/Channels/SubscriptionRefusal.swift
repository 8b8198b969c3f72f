/// The reason why a subscription is refused. The connection stays open.
struct SubscriptionRefusal: Error, Hashable {
    enum Reason: Hashable {
        case unauthorized
        /// A limit on length or number is exceeded; the code is soketi's.
        case limit(Int)
        case malformed

        /// The type and status that soketi sends in `pusher:subscription_error`.
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
    /// The message without the client's authorization.
    let summary: String

    /// - Parameter summary: `nil` uses the message.
    init(_ reason: Reason, _ message: String, summary: String? = nil) {
        self.reason = reason
        self.message = message
        self.summary = summary ?? message
    }
}
