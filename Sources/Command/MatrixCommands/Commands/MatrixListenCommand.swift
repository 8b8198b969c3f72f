import ArgumentParser
import CommandKit
import MatrixSDK
import PusherSwift

struct MatrixListenCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print what happens in your rooms.",
        discussion: """
            Prints messages, polls and votes, members, reactions, typing, receipts, invitations, unread counts, sync states, gaps and \
            errors. --count counts timeline events and invitations. The sync resumes automatically. pusher-cli listen \
            --matrix prints events of Pusher channels in the same stream.

            What came since the last listen ended is printed first, marked as missed ("caught_up":true with --json): \
            timeline events, invitations, and rooms joined or left. A gap says where the homeserver left events out. \
            The first listen after a login prints nothing old.

            Example:
              pusher-cli matrix listen --room '#lobby:example.org' --json
            """)

    @OptionGroup var selection: MatrixListenOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let feed = selection.feed(try network.matrixAccount())
        try await EventStream(feeds: [feed], mode: .everything, options: stream).run().exit()
    }
}
