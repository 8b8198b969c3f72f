import ArgumentParser
import Foundation
import PusherHTTP

struct TriggerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trigger", abstract: "Publish an event through the HTTP API.",
        usage: """
            pusher-cli trigger CHANNEL[,CHANNEL]... EVENT DATA [options]
            pusher-cli trigger --batch FILE [options]
            """,
        discussion: """
            DATA is sent as it is; - reads it from standard input. A batch file holds a JSON array of \
            {"channel", "name", "data"} objects, data being a string, with an optional "socket_id".
            """)

    @Argument(help: ArgumentHelp("Channels, EVENT and DATA.", valueName: "argument"))
    var arguments: [String] = []

    @Option(help: "Not to be sent to this connection.")
    var socketId: String?

    @Option(help: ArgumentHelp("Publish the events in a JSON file; - reads standard input.", valueName: "file"))
    var batch: String?

    @OptionGroup var server: HTTPOptions

    func validate() throws {
        guard batch == nil || arguments.isEmpty else { throw ValidationError("--batch takes no other arguments.") }
        guard batch != nil || arguments.count == 3 else {
            throw ValidationError("Give CHANNEL EVENT DATA, or --batch FILE.")
        }
    }

    func run() async throws {
        let client = try server.client()
        do throws(PusherHTTPError) {
            if let batch {
                try await client.triggerBatch(try readBatch(batch))
            } else {
                let channels = arguments[0].split(separator: ",").map(String.init)
                let data = arguments[2] == "-" ? try read("-") : arguments[2]
                try await client.trigger(event: arguments[1], channels: channels, data: data, socketID: socketId)
            }
        } catch {
            StandardError.write("error: \(error)")
            try error.exitStatus.exit()
        }
    }

    private func readBatch(_ file: String) throws(PusherHTTPError) -> [PusherHTTPClient.BatchEvent] {
        struct Entry: Decodable {
            let channel: String
            let name: String
            let data: String
            let socket_id: String?
        }
        struct Wrapped: Decodable {
            let batch: [Entry]
        }
        let text = Data(try read(file).utf8)
        let decoder = JSONDecoder()
        guard
            let entries = (try? decoder.decode([Entry].self, from: text))
                ?? (try? decoder.decode(Wrapped.self, from: text))?.batch
        else {
            throw PusherHTTPError(
                .invalidArgument, "\(file) is not a JSON array of {\"channel\", \"name\", \"data\"} objects")
        }
        return entries.map {
            PusherHTTPClient.BatchEvent(channel: $0.channel, event: $0.name, data: $0.data, socketID: $0.socket_id)
        }
    }

    private func read(_ file: String) throws(PusherHTTPError) -> String {
        let handle = file == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: file)
        guard let handle, let data = try? handle.readToEnd() ?? Data() else {
            throw PusherHTTPError(.invalidArgument, "\(file) cannot be read")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw PusherHTTPError(.invalidArgument, "\(file) is not UTF-8 text")
        }
        return text
    }
}
