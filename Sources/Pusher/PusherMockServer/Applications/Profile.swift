extension PusherMockServer {
    /// The server whose frames and answers are imitated. Compatible servers differ from the vendor's and from each
    /// other.
    public enum Profile: String, CaseIterable, Sendable {
        /// Pusher Channels.
        case vendor
        /// soketi: errors name their channel, a success has no `data`, a refusal is `pusher:subscription_error`.
        case soketi
        /// Laravel Reverb: errors hold JSON as a string, text is escaped as in PHP, refusals have codes.
        case reverb
    }
}

/// The differences, one per line; the columns are vendor, soketi, reverb.
extension PusherMockServer.Profile {
    // Connection
    var activityTimeout: Duration { column(.seconds(120), .seconds(30), .seconds(30)) }
    /// The silence after which the server acts; `nil` means the activity timeout.
    var pingAfter: Duration? { column(nil, .seconds(120), .seconds(60)) }
    /// Whether the server pings silent clients. Otherwise silence ends the connection, without a close frame.
    var pingsSilentClients: Bool { column(true, false, true) }
    /// Whether the server sends `pusher:error` before it closes a connection that did not answer a ping.
    var announcesMissingPong: Bool { column(false, false, true) }

    /// Whether `protocol` and `version` of the query matter.
    var checksVersions: Bool { column(true, false, false) }

    // Encoding
    /// The data in `pusher:ping` and `pusher:pong`.
    var pingData: String? { column("{}", nil, nil) }
    var errorData: ErrorData { column(.object, .object, .text) }
    var namesChannelInErrors: Bool { column(false, true, false) }
    /// The data of `subscription_succeeded` on a channel without members.
    var succeededData: String? { column("{}", nil, "{}") }
    var signInSuccessData: ErrorData { column(.text, .object, .text) }
    /// Whether to encode like PHP, which writes `[]` for an object that has no members or is numbered like a list, and
    /// escapes more than necessary.
    var encodesLikePHP: Bool { column(false, false, true) }

    // Answers
    var malformedMessage: MalformedMessageAnswer { column(.error, .silence, .invalidFormat) }
    var subscriptionRefusal: SubscriptionRefusalAnswer { column(.error, .subscriptionError, .unauthorized) }
    var refusesSecondSubscription: Bool { column(true, false, false) }
    /// Whether a client can subscribe to a presence channel without a user id, and then doesn't become a member.
    var admitsWithoutUserID: Bool { column(false, false, true) }
    /// Whether the key before the colon of `auth` must be the application's.
    var checksKeyOfAuth: Bool { column(true, true, false) }
    var signInFailure: SignInFailureAnswer { column(.error, .close, .unauthorized) }
    var clientEventRejectionCode: Int? { column(nil, 4301, 4009) }
    var clientEventData: ClientEventData { column(.anything, .anything, .structured) }
    var channelInfo: ChannelInfoAnswer { column(.asked, .everything, .fitting) }
    /// The HTTP status for an event that breaks a rule.
    var invalidEventStatus: Int { column(400, 400, 422) }

    // Names
    var nameMatching: NameMatching { column(.prefix, .anywhere, .withoutDash) }

    private func column<Value>(_ vendor: Value, _ soketi: Value, _ reverb: Value) -> Value {
        switch self {
        case .vendor: vendor
        case .soketi: soketi
        case .reverb: reverb
        }
    }

    /// The form of JSON in `data`.
    enum ErrorData {
        case object
        /// A string that contains the JSON.
        case text
    }

    enum MalformedMessageAnswer {
        /// `pusher:error` without code that describes the mistake.
        case error
        case silence
        /// `pusher:error` 4200.
        case invalidFormat
    }

    enum SubscriptionRefusalAnswer {
        /// `pusher:error` without code.
        case error
        /// `pusher:subscription_error` on the channel.
        case subscriptionError
        /// `pusher:error` 4009, or 4200 if it is not about authorization.
        case unauthorized
    }

    enum SignInFailureAnswer {
        /// `pusher:error` without code.
        case error
        /// `pusher:error` 4009, then the end.
        case close
        /// `pusher:error` 4009.
        case unauthorized
    }

    enum ClientEventData {
        case anything
        /// An object, array, null or a string that holds JSON.
        case structured
    }

    /// The information in answers about channels.
    enum ChannelInfoAnswer {
        /// The attributes in `info`; one that does not fit the channel is an error.
        case asked
        /// Counts, regardless of `info`.
        case everything
        /// The attributes in `info` that fit the channel.
        case fitting
    }

    enum NameMatching {
        case prefix
        /// The parts that make a channel private or cached may be anywhere in its name.
        case anywhere
        /// `privateer` is private.
        case withoutDash
    }
}
