import CommandKit
import Foundation
import PusherHTTP

/// The events in a JSON file: an array, or an object with the array as `batch`, as for the HTTP API.
enum BatchFile {
    private struct Entry: Decodable {
        let channel: String
        let name: String
        let data: String
        let socket_id: String?
        let info: String?
    }

    private struct Wrapped: Decodable {
        let batch: [Entry]
    }

    /// - Parameter file: The path; `-` is standard input.
    static func events(in file: String) throws(CommandFailure) -> [PusherHTTPClient.BatchEvent] {
        let json = try Input.bytes(of: file, limit: Input.maximumMessage)
        let decoder = JSONDecoder()
        guard
            let entries = (try? decoder.decode([Entry].self, from: json))
                ?? (try? decoder.decode(Wrapped.self, from: json))?.batch
        else {
            throw CommandFailure(
                .badData,
                "\(file == "-" ? "standard input" : file) is not a JSON array of {\"channel\", \"name\", \"data\"} objects, "
                    + "in which every value is a string: also data, which may hold JSON as text")
        }
        var events: [PusherHTTPClient.BatchEvent] = []
        for entry in entries {
            events.append(
                PusherHTTPClient.BatchEvent(
                    channel: entry.channel, event: entry.name, data: entry.data, socketID: entry.socket_id,
                    info: try attributes(entry.info)))
        }
        return events
    }

    private static func attributes(
        _ info: String?
    ) throws(CommandFailure) -> Set<PusherHTTPClient.ChannelAttribute> {
        var attributes: Set<PusherHTTPClient.ChannelAttribute> = []
        for name in (info ?? "").split(separator: ",") {
            guard let attribute = PusherHTTPClient.ChannelAttribute(rawValue: String(name)) else {
                throw CommandFailure(.badData, "info takes user_count, subscription_count and cache, not \(name)")
            }
            attributes.insert(attribute)
        }
        return attributes
    }
}
