extension PusherMockServer {
    /// Whose frames and answers the server imitates: compatible servers differ from the vendor's and from each other.
    public enum Profile: String, CaseIterable, Sendable {
        /// Pusher Channels.
        case vendor
        /// soketi: errors name their channel, a success has no `data`, a refusal is `pusher:subscription_error`.
        case soketi
        /// Laravel Reverb: errors hold JSON as a string, everything is escaped as PHP does, refusals have codes.
        case reverb
    }
}

/// The differences, one a line; the columns are vendor, soketi, reverb.
extension PusherMockServer.Profile {
    // Connection
    var activityTimeout: Duration { column(.seconds(120), .seconds(30), .seconds(30)) }
    /// Silence before the server acts; nil is the activity timeout.
    var pingAfter: Duration? { column(nil, .seconds(120), .seconds(60)) }
    /// Otherwise it is silence that ends the connection, without a close frame.
    var pingsSilentClients: Bool { column(true, false, true) }
    /// Whether `pusher:error` goes before the close of a connection that did not answer a ping.
    var announcesMissingPong: Bool { column(false, false, true) }

    /// Whether `protocol` and `version` of the query matter.
    var checksVersions: Bool { column(true, false, false) }

    // Encoding
    /// In `pusher:ping` and `pusher:pong`.
    var pingData: String? { column("{}", nil, nil) }
    var errorData: ErrorData { column(.object, .object, .text) }
    var namesChannelInErrors: Bool { column(false, true, false) }
    /// What `subscription_succeeded` holds on a channel without members.
    var succeededData: String? { column("{}", nil, "{}") }
    var signInSuccessData: ErrorData { column(.text, .object, .text) }
    /// PHP writes `[]` for an object that has no members or is numbered like a list, and escapes more than it must.
    var encodesLikePHP: Bool { column(false, false, true) }

    // Answers
    var malformedMessage: MalformedMessageAnswer { column(.error, .silence, .invalidFormat) }
    var subscriptionRefusal: SubscriptionRefusalAnswer { column(.error, .subscriptionError, .unauthorized) }
    var refusesSecondSubscription: Bool { column(true, false, false) }
    /// Whether a presence channel can be subscribed without a user id: nobody is a member then.
    var admitsWithoutUserID: Bool { column(false, false, true) }
    /// Whether the key before the colon of `auth` must be the application's.
    var checksKeyOfAuth: Bool { column(true, true, false) }
    var signInFailure: SignInFailureAnswer { column(.error, .close, .unauthorized) }
    var clientEventRejectionCode: Int? { column(nil, 4301, 4009) }
    var clientEventData: ClientEventData { column(.anything, .anything, .structured) }
    var channelInfo: ChannelInfoAnswer { column(.asked, .everything, .fitting) }
    /// HTTP status of an event that breaks a rule.
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

    /// In which form JSON stands in `data`.
    enum ErrorData {
        case object
        /// As a string, which holds the JSON.
        case text
    }

    enum MalformedMessageAnswer {
        /// `pusher:error` without code that says what is wrong.
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

    /// What is told about channels that are asked for.
    enum ChannelInfoAnswer {
        /// The attributes of `info`; one that the channel does not have is an error.
        case asked
        /// Counts, whatever `info` says.
        case everything
        /// The attributes of `info` that the channel has.
        case fitting
    }

    enum NameMatching {
        case prefix
        /// What makes a channel private or cached may stand anywhere in its name.
        case anywhere
        /// `privateer` is private.
        case withoutDash
    }
}
