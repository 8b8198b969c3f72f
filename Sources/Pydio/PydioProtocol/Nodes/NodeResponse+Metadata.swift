import Foundation

/// A field of a workspace's metadata, with what it has for one node.
public struct PydioMetadataField: Sendable, Hashable {
    /// What the server calls it.
    public let name: String
    /// What people call it.
    public let label: String
    /// Empty if it was never set.
    public let value: String

    /// See the properties.
    public init(name: String, label: String, value: String) {
        (self.name, self.label, self.value) = (name, label, value)
    }
}

extension NodeResponse {
    /// The fields that an administrator has defined for the workspace, in that order, with this node's values. Empty without
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

    /// Whether somebody has locked it.
    public var isLocked: Bool { attributes["sl_locked"] == "true" }

    /// Whether that is the user.
    public var isLockedByUser: Bool { isLocked && attributes["sl_mylock"] == "true" }

    /// What the user is notified of; nil is nothing.
    public var watch: PydioWatch? { attributes["meta_watched"].flatMap { PydioWatch(rawValue: $0) } }
}
