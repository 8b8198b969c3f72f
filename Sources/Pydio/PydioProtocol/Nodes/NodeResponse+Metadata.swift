import Foundation

/// A field of a workspace's metadata, with its value for one node.
public struct PydioMetadataField: Sendable, Hashable {
    /// The server's name of the field.
    public let name: String
    /// The display name of the field.
    public let label: String
    /// The value; empty if it was never set.
    public let value: String

    /// Creates an instance with the given properties.
    public init(name: String, label: String, value: String) {
        (self.name, self.label, self.value) = (name, label, value)
    }
}

extension NodeResponse {
    /// The fields defined by an administrator for the workspace, in that order, with this node's values. Empty without
    /// the plugin meta.user.
    public var metadataFields: [PydioMetadataField] {
        let names = Self.list(attributes["meta_fields"])
        let labels = Self.list(attributes["meta_labels"])
        return names.enumerated().map { index, name in
            PydioMetadataField(
                name: name, label: index < labels.count ? labels[index] : name, value: attributes[name] ?? "")
        }
    }

    private static func list(_ text: String?) -> [String] {
        text?.split(separator: ",").map { String($0).trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty } ?? []
    }

    /// Whether any user has locked the node.
    public var isLocked: Bool { attributes["sl_locked"] == "true" }

    /// Whether the current user has locked the node.
    public var isLockedByUser: Bool { isLocked && attributes["sl_mylock"] == "true" }

    /// The events that the user is notified of; `nil` for none.
    public var watch: PydioWatch? { attributes["meta_watched"].flatMap { PydioWatch(rawValue: $0) } }
}
