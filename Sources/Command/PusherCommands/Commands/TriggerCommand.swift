import ArgumentParser
import CommandKit
import Foundation
import PusherHTTP
import PusherProtocol

struct TriggerCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "trigger", abstract: "Publish an event through the HTTP API.",
        usage: """
            pusher-cli trigger CHANNEL[,CHANNEL]... EVENT DATA [options]
            pusher-cli trigger --user USER EVENT DATA [options]
            pusher-cli trigger --batch FILE [options]
            pusher-cli trigger --lines CHANNEL[,CHANNEL]... EVENT [options]
            """,
        discussion: """
            DATA is sent unchanged; - reads it from standard input, without the line ending at the end. On an \
            encrypted channel, it is encrypted. A batch file holds a JSON array of {"channel", "name", "data"} \
            objects, where data is a string, with an optional "socket_id" and "info". Prints nothing unless --info \
            asks for something.

            With --lines, each line of standard input is published in order, without its line ending; lines that \
            arrive quickly are sent ten per request, without a limit unless --rate sets one. A line that is too long or refused is reported with its number, \
            and the others are still published. If any line failed, the counts go to standard error, and the exit \
            status is that of the worst failure.

            Examples:
              pusher-cli trigger prices,news update '{"value":1}'
              pusher-cli trigger presence-room hello hi --info user_count
              pusher-cli trigger --user ann message 'for you alone'
              tail -F access.log | pusher-cli trigger --lines logs line
            """)

    @Argument(help: ArgumentHelp("Channels, EVENT and DATA; EVENT and DATA with --user.", valueName: "argument"))
    var arguments: [String] = []

    @Option(help: "Publish to the connections that are signed in as this user.")
    var user: String?

    @Option(help: "Do not send the event to this connection.")
    var socketId: String?

    @Option(
        help: ArgumentHelp("Publish the events in a JSON file; - reads standard input.", valueName: "file"),
        completion: .file())
    var batch: String?

    @Flag(help: "With -, send standard input unchanged, including the line ending at the end.")
    var dataBinary = false

    @OptionGroup var lines: LinePublishingOptions

    @OptionGroup var info: InfoOptions

    @OptionGroup var output: OutputOptions

    @OptionGroup var server: HTTPOptions
    @OptionGroup var masterKey: MasterKeyOption

    func checkArguments() throws {
        guard !lines.input.lines else { return try validateLines() }
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
            throw ValidationError(
                "Give CHANNEL EVENT DATA, --user USER EVENT DATA, --lines CHANNEL EVENT, or --batch FILE.")
        }
        for channel in channels { try NameArguments.channel(channel) }
        guard channels.count <= PusherHTTPClient.maximumChannels else {
            throw ValidationError("One event goes to 1 to \(PusherHTTPClient.maximumChannels) channels.")
        }
        guard try channels.count < 2 || !channels.contains(where: { try NameArguments.channel($0).kind == .encrypted })
        else { throw ValidationError("An event for an encrypted channel goes to that channel alone.") }
        if let user { try NameArguments.user(user) }
        try NameArguments.socketID(socketId)
        if batch == nil { try NameArguments.event(arguments[user == nil ? 1 : 0]) }
    }

    /// The channels to publish on, unless a file or `--user` provides the target.
    private var channels: [String] {
        guard batch == nil, user == nil else { return [] }
        return arguments[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// With lines, the pending request is completed.
    var endsBySignal: Bool { lines.input.lines }

    private func validateLines() throws {
        guard batch == nil, user == nil, info.info.isEmpty, !output.json else {
            throw ValidationError("--lines takes no --batch, --user, --info or --json.")
        }
        guard arguments.count == 2 else { throw ValidationError("Give CHANNEL EVENT with --lines.") }
        guard channels.count <= LinePublisher.maximumChannels else {
            throw ValidationError("--lines takes 1 to \(LinePublisher.maximumChannels) channels.")
        }
        for channel in channels { try NameArguments.channel(channel) }
        try NameArguments.socketID(socketId)
        try NameArguments.event(arguments[1])
    }

    func run() async throws {
        let api = try server.api(publishingOn: channels, masterKey, change: batch == nil ? "publishing to" : nil)
        if lines.input.lines {
            try await LinePublisher(
                api: api, channels: channels, event: arguments[1], socketID: socketId, rate: lines.input.rate,
                patience: lines.patience
            ).run()
        } else if let batch {
            let events = try BatchFile.events(in: batch)
            // Only now is it known whether a channel is encrypted.
            let api = try server.api(publishingOn: events.map(\.channel), masterKey, change: "publishing to")
            let told = try await api.ask { try await $0.triggerBatch(events) }
            _ = output.write(zip(events, told).map { ChannelRecord(name: $0.channel, info: $1) })
        } else if let user {
            let data = try Input.text(
                given: arguments[1], isExact: dataBinary, limit: api.client.maximumDataSize)
            try await api.ask { try await $0.trigger(event: arguments[0], toUser: user, data: data) }
        } else {
            let attributes = try info.attributes()
            let data = try Input.text(
                given: arguments[2], isExact: dataBinary, limit: api.client.maximumDataSize)
            let told = try await api.ask { [channels] in
                try await $0.trigger(
                    event: arguments[1], channels: channels, data: data, socketID: socketId, info: attributes)
            }
            if told.isEmpty, !info.info.isEmpty {
                StandardError.write("warning: published, but the server did not report what --info asks for")
            }
            _ = output.write(told.sorted { $0.key < $1.key }.map { ChannelRecord(name: $0.key, info: $0.value) })
        }
    }
}
