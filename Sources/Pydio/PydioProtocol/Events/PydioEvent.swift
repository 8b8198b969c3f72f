public import Foundation
import JSONBytes
public import Realtime

/// Something that happened in a workspace. Which properties are set depends on the name: see ``PydioEventName``.
public struct PydioEvent: Sendable, Hashable {
    /// One of ``PydioEventName``.
    public internal(set) var name: String
    /// The workspace.
    public let workspaceId: String
    /// Where the node is, beginning with `/`; of a deleted node, where it was.
    public internal(set) var path: String?
    /// Where a moved node was.
    public internal(set) var originalPath: String?
    /// Whether the node is a file.
    public internal(set) var isLeaf: Bool?
    /// Bytes.
    public internal(set) var size: Int64?
    /// When the node was changed, by the server's clock.
    public internal(set) var mTime: Date?
    /// Of a file's content, in hexadecimal digits; only where the server keeps a log of changes.
    public internal(set) var md5: String?
    /// The change's place in the server's log of changes, if it keeps one.
    public internal(set) var sequence: Int64?
    /// Whether the change was found by listing the workspace after a gap.
    public internal(set) var isLate = false
    /// The new state, of ``PydioEventName/state``.
    public internal(set) var state: ConnectionState?
    /// What else there is, under the keys of the data.
    public internal(set) var details: [String: String] = [:]

    init(_ name: String, in workspaceId: String, path: String? = nil) {
        self.name = name
        self.workspaceId = workspaceId
        self.path = path
    }

    /// The source is in another state.
    package init(state: ConnectionState, in workspaceId: String) {
        self.init(PydioEventName.state, in: workspaceId)
        self.state = state
    }

    /// What bindings get, back from its JSON.
    package init(_ event: RealtimeEvent, in workspaceId: String) {
        self.init(event.eventName, in: workspaceId)
        for (key, value) in event.json.members {
            switch key {
            case "path": path = value.string
            case "original_path": originalPath = value.string
            case "is_leaf": isLeaf = value.bool
            case "size": size = value.int.map { Int64($0) }
            case "mtime": mTime = value.double.map { Date(timeIntervalSince1970: $0) }
            case "md5": md5 = value.string
            case "seq": sequence = value.int.map { Int64($0) }
            case "late": isLate = value.bool ?? false
            case "state": state = ConnectionState.allCases.first { $0.stringValue() == value.string }
            default: details[key] = value.string
            }
        }
    }

    /// A JSON object: what bindings of a Pusher client get.
    public var data: Data {
        var fields: [String: Any] = details
        fields["path"] = path
        fields["original_path"] = originalPath
        fields["is_leaf"] = isLeaf
        fields["size"] = size
        fields["mtime"] = mTime.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
        fields["md5"] = md5
        fields["seq"] = sequence
        if isLate { fields["late"] = true }
        fields["state"] = state?.stringValue()
        let data = try? JSONSerialization.data(withJSONObject: fields, options: [.sortedKeys, .withoutEscapingSlashes])
        return data ?? Data("{}".utf8)
    }
}
