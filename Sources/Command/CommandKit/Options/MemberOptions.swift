package import ArgumentParser
import PusherProtocol

/// The identity of a member on presence channels.
package struct MemberOptions: ParsableArguments {
    @Option(help: "The user's id on presence channels.")
    package var userId: String?

    @Option(help: "JSON about the user, sent to the channel's other members.")
    package var userInfo: String?

    package init() {}

    package func validate() throws {
        try EmptyValue.refuse(("--user-id", userId))
        guard userInfo == nil || userId != nil else { throw ValidationError("--user-info needs --user-id.") }
        guard userInfo.map({ JSON.value($0) != nil }) ?? true else { throw ValidationError("--user-info is not JSON.") }
    }
}
