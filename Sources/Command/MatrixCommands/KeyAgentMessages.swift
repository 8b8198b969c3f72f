import CommandKit
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK

/// A request to the key agent, as a JSON object.
enum KeyAgentRequest {
    case send(content: JSONView, roomID: String, transactionID: String?)
    case upload(path: String, mimeType: String, caption: String?, roomID: String)
    case read(events: [MXEvent], roomID: String)
    case invite(userID: String, roomID: String)
    case ownDevices

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
        case .invite(let userID, let roomID):
            object.add("invite", userID)
            object.add("room_id", roomID)
        case .ownDevices: object.add("own_devices", json: "true")
        }
        return object.text
    }

    /// Returns `nil` if it is not a request.
    init?(_ json: JSONView) {
        if json["own_devices"]?.bool == true {
            self = .ownDevices
            return
        }
        guard let roomID = json["room_id"]?.string else { return nil }
        if let content = json["send"] {
            self = .send(content: content, roomID: roomID, transactionID: json["txn_id"]?.string)
        } else if let path = json["upload"]?.string, let mimeType = json["type"]?.string {
            self = .upload(path: path, mimeType: mimeType, caption: json["caption"]?.string, roomID: roomID)
        } else if let events = json["read"] {
            self = .read(events: (events.array ?? []).compactMap { MXEvent(json: $0) }, roomID: roomID)
        } else if let userID = json["invite"]?.string {
            self = .invite(userID: userID, roomID: roomID)
        } else {
            return nil
        }
    }

    /// Carries out the request.
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
            case .invite(let userID, let roomID):
                return .invited(withoutKeys: try await keys.invite(userID, to: roomID))
            case .ownDevices: return .ownDevices(try await keys.ownDevices())
            }
        } catch {
            let status = (error as? any ReportableError)?.exitStatus ?? .unavailable
            return .failed(CommandFailure(status, Complaint.text(error)))
        }
    }
}

/// An answer of the key agent, as a JSON object.
enum KeyAgentAnswer {
    case sent(String)
    /// The decrypted content of each event, or the reason why it is unknown; `nil` for unencrypted ones.
    case read([(record: JSONView?, shield: MXMessageShield)])
    /// The reason why the keys of earlier messages could not be shared; `nil` on success.
    case invited(withoutKeys: String?)
    case ownDevices([String: DeviceStanding])
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
        case .invited(let reason):
            object.add("invited", json: "true")
            if let reason { object.add("without_keys", reason) }
        case .ownDevices(let devices):
            var standings = JSONWriter()
            for (id, standing) in devices.sorted(by: { $0.key < $1.key }) { standings.add(id, standing.rawValue) }
            object.add("own_devices", standings)
        case .failed(let failure):
            object.add("error", failure.description)
            object.add("status", json: "\(failure.exitStatus.rawValue)")
        }
        return object.text
    }

    /// Returns `nil` if it is not an answer.
    init?(_ json: JSONView) {
        if let id = json["event_id"]?.string {
            self = .sent(id)
        } else if let events = json["read"] {
            self = .read(
                (events.array ?? []).map { event in
                    (event["record"], event["shield"]?.string.flatMap(MXMessageShield.init) ?? .unknownDevice)
                })
        } else if json["invited"] != nil {
            self = .invited(withoutKeys: json["without_keys"]?.string)
        } else if let devices = json["own_devices"] {
            let standings = devices.members.map { id, standing in
                (id, standing.string.flatMap(DeviceStanding.init) ?? .unverified)
            }
            self = .ownDevices(Dictionary(standings) { $1 })
        } else if let text = json["error"]?.string {
            let status = json["status"]?.int.flatMap { ExitStatus(rawValue: Int32(clamping: $0)) }
            self = .failed(CommandFailure(status ?? .unavailable, text))
        } else {
            return nil
        }
    }
}
