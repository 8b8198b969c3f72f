import PusherProtocol

/// The id of a user who signs in: 1 to 200 of the characters allowed in channel names.
struct UserID {
    static let maximumLength = ChannelName.maximumUserIDLength

    let string: String

    init(_ string: String) throws(PusherHTTPError) {
        guard !string.isEmpty else { throw PusherHTTPError(.invalidArgument, "the user id is empty") }
        guard string.utf8.count <= Self.maximumLength else {
            throw PusherHTTPError(
                .invalidArgument,
                "the user id has \(string.utf8.count) characters, at most \(Self.maximumLength) are allowed")
        }
        guard string.wholeMatch(of: /[-a-zA-Z0-9_=@,.;]+/) != nil else {
            throw PusherHTTPError(
                .invalidArgument, "a user id has only letters, digits and _ - = @ , . ;")
        }
        self.string = string
    }
}
