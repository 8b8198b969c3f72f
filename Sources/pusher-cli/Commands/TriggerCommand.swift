import ArgumentParser
import Foundation
import PusherHTTP

struct TriggerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trigger", abstract: "Publish an event through the HTTP API.",
        usage: """
            pusher-cli trigger CHANNEL[,CHANNEL]... EVENT DATA [options]
            pusher-cli trigger --user USER EVENT DATA [options]
            pusher-cli trigger --batch FILE [options]
            """,
        discussion: """
            DATA is sent as it is; - reads it from standard input. On an encrypted channel it is encrypted. A batch file \
            holds a JSON array of {"channel", "name", "data"} objects, data being a string, with an optional \
            "socket_id" and "info". Prints nothing, unless --info asks for something.

            Examples:
              pusher-cli trigger prices,news update '{"value":1}'
              pusher-cli trigger presence-room hello hi --info user_count
              pusher-cli trigger --user ann message 'for you alone'
            """)

    @Argument(help: ArgumentHelp("Channels, EVENT and DATA; EVENT and DATA with --user.", valueName: "argument"))
    var arguments: [String] = []

    @Option(help: "Publish to the connections that are signed in as this user.")
    var user: String?

    @Option(help: "Not to be sent to this connection.")
    var socketId: String?

    @Option(
        help: ArgumentHelp("Publish the events in a JSON file; - reads standard input.", valueName: "file"),
        completion: .file())
    var batch: String?

    @OptionGroup var info: InfoOptions

    @Flag(help: "Print what --info asks for as one JSON object a line.")
    var json = false

    @OptionGroup var server: HTTPOptions

    func validate() throws {
        guard batch == nil || arguments.isEmpty else { throw ValidationError("--batch takes no other arguments.") }
        guard batch == nil || (user == nil && socketId == nil && info.info.isEmpty) else {
            throw ValidationError("--batch takes no --user, --socket-id or --info: they are in the file.")
        }
        guard user == nil || (socketId == nil && info.info.isEmpty) else {
            throw ValidationError("--user takes no --socket-id and no --info.")
        }
        guard batch != nil || user == nil || arguments.count == 2 else {
            throw ValidationError("Give EVENT DATA with --user.")
        }
        guard batch != nil || user != nil || arguments.count == 3 else {
            throw ValidationError("Give CHANNEL EVENT DATA, or --batch FILE.")
        }
    }

    func run() async throws {
        let client = try server.client()
        try await ExitStatus.reporting {
            if let batch {
                let events = try BatchFile.events(in: batch)
                for (event, info) in zip(events, try await client.triggerBatch(events)) {
                    ChannelRecord(name: event.channel, info: info).write(asJSON: json)
                }
            } else if let user {
                try await client.trigger(
                    event: arguments[0], toUser: user, data: try Input.text(given: arguments[1]))
            } else {
                let channels = arguments[0].split(separator: ",").map(String.init)
                let told = try await client.trigger(
                    event: arguments[1], channels: channels, data: try Input.text(given: arguments[2]),
                    socketID: socketId, info: try info.attributes())
                for (name, info) in told.sorted(by: { $0.key < $1.key }) {
                    ChannelRecord(name: name, info: info).write(asJSON: json)
                }
            }
        }
    }
}
