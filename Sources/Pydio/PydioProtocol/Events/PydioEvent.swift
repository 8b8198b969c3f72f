public import Foundation
import JSONBytes
public import Realtime

/// An event in a workspace. Which properties are set depends on the name: see ``PydioEventName``.
public struct PydioEvent: Sendable, Hashable {
    /// The event's name, one of ``PydioEventName``.
    public internal(set) var name: String
    /// The id of the workspace.
    public let workspaceId: String
    /// The path of the node, beginning with `/`; for a deleted node, its last path.
    public internal(set) var path: String?
    /// The previous path of a moved node.
    public internal(set) var originalPath: String?
    /// Whether the node is a file.
    public internal(set) var isLeaf: Bool?
    /// The size in bytes.
    public internal(set) var size: Int64?
    /// The modification time of the node, by the server's clock.
    public internal(set) var mTime: Date?
    /// The MD5 of a file's content, in hexadecimal digits; only if the server keeps a change log.
    public internal(set) var md5: String?
    /// The change's position in the server's change log, if it has one.
    public internal(set) var sequence: Int64?
    /// Whether the change was found by listing the workspace after a gap.
    public internal(set) var isLate = false
    /// The new state, for ``PydioEventName/state``.
    public internal(set) var state: ConnectionState?
    /// Other values, by the keys of the data.
    public internal(set) var details: [String: String] = [:]

    init(_ name: String, in workspaceId: String, path: String? = nil) {
        self.name = name
        self.workspaceId = workspaceId
        self.path = path
    }

    /// Creates the event for a new state of the source.
    package init(state: ConnectionState, in workspaceId: String) {
        self.init(PydioEventName.state, in: workspaceId)
        self.state = state
    }

    /// Creates an event from the JSON that bindings receive.
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

    /// The JSON object that bindings of a Pusher client receive.
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
