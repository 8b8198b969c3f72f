import Basics
import Foundation

extension NodeResponse {
    /// Returns the listed folder as the only element (6.2); an empty array if the document is empty; `nil` if it is not
    /// a listing.
    static func listing(in root: XMLNode) -> [NodeResponse]? {
        guard root.name == "tree" else { return nil }
        guard root["filename"] != nil else { return root.children.isEmpty ? [] : nil }
        return NodeResponse(root).map { [$0] }
    }

    /// Reads a node with everything in it; returns `nil` if it or one in it has no path.
    convenience init?(_ element: XMLNode) {
        guard let path = element["filename"] else { return nil }
        var children: [NodeResponse] = []
        for child in element.children where child.name == "tree" {
            guard let node = NodeResponse(child) else { return nil }
            children.append(node)
        }
        let mapped: Set<String> = ["text", "is_file", "filename", "bytesize", "ajxp_modiftime"]
        self.init(
            name: element["text"] ?? path.pathSegments.last ?? "",
            isLeaf: element["is_file"] == "true", path: path, size: element["bytesize"].flatMap { Self.size($0) } ?? 0,
            mTime: element["ajxp_modiftime"].flatMap { Self.time($0) }, children: children.isEmpty ? nil : children,
            attributes: element.attributes.filter { !mapped.contains($0.key) },
            pagination: element.child("pagination").flatMap { NodePagination($0) })
    }

    private static func size(_ text: String) -> Int64? {
        Int64(text).map { max($0, 0) }
    }

    /// Reads seconds since 1970, possibly with decimals.
    static func time(_ text: String) -> Date? {
        guard let seconds = Double(text), seconds.isFinite, abs(seconds) < 1e12 else { return nil }
        return Date(timeIntervalSince1970: seconds)
    }
}

extension NodePagination {
    fileprivate init?(_ element: XMLNode) {
        guard let total = element["total"].flatMap({ Int($0) }), let current = element["current"].flatMap({ Int($0) })
        else { return nil }
        self.init(count: element["count"].flatMap { Int($0) } ?? 0, total: total, current: current)
    }
}
