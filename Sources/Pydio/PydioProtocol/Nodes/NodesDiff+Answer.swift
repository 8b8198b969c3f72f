extension NodesDiff {
    /// Reads a `nodes_diff` element (8.3). Skips nodes without a path.
    package init(_ element: XMLNode) {
        self.init(
            element.children.flatMap { part -> [Change] in
                let nodes = part.children("tree")
                return switch part.name {
                case "add": nodes.compactMap { NodeResponse($0).map { .added($0) } }
                case "update": nodes.compactMap { NodeResponse($0).map { .updated($0) } }
                case "remove":
                    nodes.compactMap { node in
                        node["filename"].map {
                            .removed(path: $0, time: node["ajxp_im_time"].flatMap { NodeResponse.time($0) })
                        }
                    }
                default: []
                }
            })
    }
}
