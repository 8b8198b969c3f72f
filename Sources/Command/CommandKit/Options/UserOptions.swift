package import ArgumentParser
import PusherProtocol
package import PusherSwift

/// The identity of the client on presence channels and when signed in.
package struct UserOptions: ParsableArguments {
    @OptionGroup package var member: MemberOptions

    @Flag(help: "Sign in as --user-id, or as --user-auth-endpoint says, to also receive events sent to the user.")
    package var signIn = false

    @Option(help: "With --sign-in: report when the user with this id comes online or goes offline. May be repeated.")
    package var watch: [String] = []

    package init() {}

    package func validate() throws {
        guard watch.isEmpty || signIn else { throw ValidationError("--watch needs --sign-in.") }
    }

    /// Sets up sign-in unless an endpoint does it; wrong use if no user is given.
    package func apply(to options: inout PusherClientOptions) throws {
        guard signIn, case .noMethod = options.userAuthMethod else { return }
        guard let userId = member.userId, case .inline(let secret) = options.authMethod else {
            throw ValidationError("--sign-in needs --user-auth-endpoint, or --user-id and the secret.")
        }
        options.userAuthMethod = .inline(
            secret: secret,
            user: PusherUserData(id: userId, userInfo: member.userInfo.flatMap(JSON.value), watchlist: watch))
    }

    /// The member data for presence channels when signing with the secret.
    package var presenceMember: PusherPresenceChannelMember? {
        member.userId.map { PusherPresenceChannelMember(userId: $0, userInfo: member.userInfo.flatMap(JSON.value)) }
    }
}
