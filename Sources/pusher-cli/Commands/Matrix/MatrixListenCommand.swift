import ArgumentParser
import MatrixSDK
import PusherSwift

struct MatrixListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print what happens in your rooms from now on.",
        discussion: """
            Messages, members, reactions, typing, receipts, invitations, unread counts, states of the sync, gaps, errors. \
            --count counts what stands in timelines, and invitations. The sync comes back by itself. \
            pusher-cli listen --matrix prints events of Pusher channels in the same stream.

            Example:
              pusher-cli matrix listen --room '#lobby:example.org' --json
            """)

    @OptionGroup var selection: MatrixListenOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        try await ExitStatus.reportingMatrix {
            let feed = selection.feed(try matrix.account())
            try await EventStream(feeds: [feed], mode: .everything, options: stream).run().exit()
        }
    }
}
