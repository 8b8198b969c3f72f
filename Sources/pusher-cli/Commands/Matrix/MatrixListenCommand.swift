import ArgumentParser
import MatrixSDK
import PusherSwift

struct MatrixListenCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print what happens in your rooms from now on.",
        discussion: """
            Prints messages, members, reactions, typing, receipts, invitations, unread counts, sync states, gaps and \
            errors. --count counts timeline events and invitations. The sync resumes automatically. pusher-cli listen \
            --matrix prints events of Pusher channels in the same stream.

            Example:
              pusher-cli matrix listen --room '#lobby:example.org' --json
            """)

    @OptionGroup var selection: MatrixListenOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        let feed = selection.feed(try matrix.account())
        try await EventStream(feeds: [feed], mode: .everything, options: stream).run().exit()
    }
}
