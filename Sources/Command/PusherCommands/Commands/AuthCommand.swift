import ArgumentParser
import CommandKit
import PusherHTTP
import PusherProtocol

struct AuthCommand: AsyncParsableCommand, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "auth", abstract: "Print what an auth endpoint would answer for a channel or a sign-in.",
        usage: """
            pusher-cli auth CHANNEL SOCKET_ID [--user-id ID [--user-info JSON]] [options]
            pusher-cli auth --user USER SOCKET_ID [options]
            """,
        discussion: """
            Signs with the secret and needs no network. USER is the user's id, or a JSON object with an "id", which is \
            signed unchanged. Presence channels need --user-id.

            Examples:
              pusher-cli auth private-orders 12.34
              pusher-cli auth presence-x 12.34 --user-id ann --user-info '{"age":7}'
              pusher-cli auth --user '{"id":"ann","watchlist":["bob"]}' 12.34
            """)

    @Argument(help: ArgumentHelp("CHANNEL and SOCKET_ID; SOCKET_ID alone with --user.", valueName: "argument"))
    var arguments: [String] = []

    @Option(help: "Sign in this user instead of authorizing a channel.")
    var user: String?

    @OptionGroup var member: MemberOptions

    @OptionGroup var credentials: CredentialOptions
    @OptionGroup var masterKey: MasterKeyOption

    func checkArguments() throws {
        guard arguments.count == (user == nil ? 2 : 1) else {
            throw ValidationError(user == nil ? "Give CHANNEL SOCKET_ID." : "--user takes only SOCKET_ID.")
        }
        guard user == nil || (member.userId == nil && member.userInfo == nil) else {
            throw ValidationError("--user-id and --user-info are for channels. With --user, give a JSON object.")
        }
        try NameArguments.socketID(arguments.last)
        if let user { return user.contains("{") ? () : try NameArguments.user(user) }
        let channel = try NameArguments.channel(arguments[0])
        guard channel.needsAuthorization else {
            throw ValidationError("Only private- and presence- channels are authorized, not “\(arguments[0])”.")
        }
        guard channel.kind != .presence || member.userId != nil else {
            throw ValidationError("Presence channels need --user-id.")
        }
    }

    func run() async throws {
        let channel = user == nil ? try NameArguments.channel(arguments[0]) : nil
        let signer = try credentials.signer(masterKey, encrypts: channel?.kind == .encrypted)
        _ = StandardOutput.write(json: try answer(signer))
    }

    private func answer(_ signer: PusherSigner) throws(PusherHTTPError) -> String {
        if let user {
            // No user id begins with a brace.
            return user.contains("{")
                ? try signer.authenticateUser(socketID: arguments[0], userData: user)
                : try signer.authenticateUser(socketID: arguments[0], userID: user)
        }
        let channelData = member.userId.map { PusherSigner.channelData(userID: $0, userInfo: member.userInfo) }
        return try signer.authorizeChannel(
            socketID: arguments[1], channel: arguments[0], channelData: channelData)
    }
}
