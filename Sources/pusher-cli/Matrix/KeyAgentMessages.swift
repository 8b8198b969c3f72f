import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK

/// What a command asks of the key agent, as one JSON object.
enum KeyAgentRequest {
    case send(content: JSONView, roomID: String, transactionID: String?)
    case upload(path: String, mimeType: String, caption: String?, roomID: String)
    case read(events: [MXEvent], roomID: String)

    var json: String {
        var object = JSONWriter()
        switch self {
        case .send(let content, let roomID, let transactionID):
            object.add("send", content)
            object.add("room_id", roomID)
            if let transactionID { object.add("txn_id", transactionID) }
        case .upload(let path, let mimeType, let caption, let roomID):
            object.add("upload", path)
            object.add("type", mimeType)
            if let caption { object.add("caption", caption) }
            object.add("room_id", roomID)
        case .read(let events, let roomID):
            object.add("read", json: "[" + events.map(\.json.compactText).joined(separator: ",") + "]")
            object.add("room_id", roomID)
        }
        return object.text
    }

    /// Nil if it is none.
    init?(_ json: JSONView) {
        guard let roomID = json["room_id"]?.string else { return nil }
        if let content = json["send"] {
            self = .send(content: content, roomID: roomID, transactionID: json["txn_id"]?.string)
        } else if let path = json["upload"]?.string, let mimeType = json["type"]?.string {
            self = .upload(path: path, mimeType: mimeType, caption: json["caption"]?.string, roomID: roomID)
        } else if let events = json["read"] {
            self = .read(events: (events.array ?? []).compactMap { MXEvent(json: $0) }, roomID: roomID)
        } else {
            return nil
        }
    }

    /// Does it.
    func performed(with keys: some RoomKeys) async -> KeyAgentAnswer {
        do {
            switch self {
            case .send(let content, let roomID, let transactionID):
                let content = content.foundation as? [String: Any] ?? [:]
                return .sent(try await keys.send(content, to: roomID, transactionID: transactionID))
            case .upload(let path, let mimeType, let caption, let roomID):
                return .sent(
                    try await keys.upload(
                        URL(filePath: path), mimeType: mimeType, caption: caption, to: roomID, onProgress: { _ in }))
            case .read(let events, let roomID):
                return .read(try await keys.read(events, in: roomID).map { ($0.event.decryptionRecord, $0.shield) })
            }
        } catch {
            let status = (error as? any ReportableError)?.exitStatus ?? .unavailable
            return .failed(CommandFailure(status, Complaint.text(error)))
        }
    }
}

/// What the key agent answers, as one JSON object.
enum KeyAgentAnswer {
    case sent(String)
    /// What is inside of each event, or why that is not known; nil of one that is not encrypted.
    case read([(record: JSONView?, shield: MXMessageShield)])
    case failed(CommandFailure)

    var json: String {
        var object = JSONWriter()
        switch self {
        case .sent(let id): object.add("event_id", id)
        case .read(let events):
            let texts = events.map { event in
                var object = JSONWriter()
                if let record = event.record { object.add("record", record) }
                object.add("shield", event.shield.name)
                return object.text
            }
            object.add("read", json: "[" + texts.joined(separator: ",") + "]")
        case .failed(let failure):
            object.add("error", failure.description)
            object.add("status", json: "\(failure.exitStatus.rawValue)")
        }
        return object.text
    }

    /// Nil if it is none.
    init?(_ json: JSONView) {
        if let id = json["event_id"]?.string {
            self = .sent(id)
        } else if let events = json["read"] {
            self = .read(
                (events.array ?? []).map { event in
                    (event["record"], event["shield"]?.string.flatMap(MXMessageShield.init) ?? .unknownDevice)
                })
        } else if let text = json["error"]?.string {
            let status = json["status"]?.int.flatMap { ExitStatus(rawValue: Int32(clamping: $0)) }
            self = .failed(CommandFailure(status ?? .unavailable, text))
        } else {
            return nil
        }
    }
}
