import Basics
package import Transport

/// One request to a server, independent of its authorization.
///
/// With a session, it goes to the script as parameters. With a key pair, it goes to the REST interface, where the
/// workspace, the action and some parameters form the path (sections 6 and 11.1 of the protocol's notes).
package struct PydioRequest: Sendable, Confidential {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    package var action: String
    package var method: Method
    package var parameters: [String: PydioParameter]
    /// The parameters that the REST interface expects as parts of the path, in order.
    package var pathParameters: [String]
    /// The REST interface's name of the action, if different: one or more segments of the path.
    package var restAction: [String]?
    /// Whether the REST interface expects it without a workspace.
    package var isGlobal = false
    /// The REST form of a request that only the REST interface has.
    var rest: REST?
    /// The file of a multipart body.
    package var upload: Upload?
    /// The file for an answer that is a download.
    package var answerFile: HTTPAnswerFile?
    /// The value of the field `Range`.
    package var range: String?
    /// Whether it must not be sent twice, as could happen over a kept-alive connection that breaks. True for all
    /// requests that may change something.
    package var isSentOnce: Bool
    /// The texts in the parameters that no error may quote.
    package var secrets: [String] = []

    /// A request in the form of the REST interface, independent of the script's actions.
    struct REST: Sendable {
        /// The path after `api/`, not encoded.
        let path: String
        let fields: [String: String]
        let body: (bytes: [UInt8], type: String)?
        let isVersion2: Bool
    }

    /// Whether it needs a key pair, and cannot be sent in a session.
    package var needsKeyPair: Bool { rest != nil }

    package enum Upload: Sendable {
        case file(HTTPBodyFile)
        case bytes([UInt8])
    }

    package init(
        _ method: Method, _ action: String, _ parameters: [String: PydioParameter] = [:], path: [String] = []
    ) {
        self.action = action
        self.method = method
        self.parameters = parameters
        pathParameters = path
        isSentOnce = method != .get
    }

    package init(_ method: Method, _ action: String, _ params: some PydioRequestParams, path: [String] = []) {
        self.init(method, action, params.dictionaryRepresentation, path: path)
    }

    package var workspaceId: String? {
        if case .text(let id) = parameters["tmp_repository_id"] { id } else { nil }
    }

    /// A description without parameters and paths.
    package var description: String { "the request \(action)" }

    /// Returns names and values as sent, not encoded yet, sorted by name.
    package static func flattened(_ parameters: [String: PydioParameter]) -> [(name: String, value: String)] {
        parameters.sorted { $0.key < $1.key }.flatMap { name, value -> [(name: String, value: String)] in
            switch value {
            case .text(let text): [(name, text)]
            case .list(let texts): texts.map { (name + "[]", $0) }
            }
        }
    }

    /// The parameters that are paths or names of nodes.
    private static let nodeParameters: Set<String> = [
        "dir", "file", "nodes", "dest", "dirname", "filename", "filename_new", "node", "bm_path",
    ]

    private static let newNameParameters: Set<String> = ["dirname", "filename", "filename_new", "archive_name"]

    /// Throws for requests that no server accepts, or that servers could misinterpret.
    package func validate() throws(PydioError) {
        for (name, value) in Self.flattened(parameters) {
            let name = name.hasSuffix("[]") ? String(name.dropLast(2)) : name
            guard !value.utf8.contains(0) else {
                throw PydioError(
                    .invalidArgument, "the parameter \(name) of \(action) has a zero byte; nothing was sent")
            }
            guard !Self.nodeParameters.contains(name) || !value.pathSegments.contains("..") else {
                throw PydioError(
                    .invalidArgument,
                    "the parameter \(name) of \(action) leads out of its folder (..); nothing was sent")
            }
            if Self.newNameParameters.contains(name) {
                guard NodeName.canBeTold(value) else { throw .untellable(in: name, of: action) }
                guard !NodeName.isDots(NodeName.stored(value)) else {
                    throw PydioError(
                        .invalidArgument,
                        "the parameter \(name) of \(action) is only dots to a server, which is no name; nothing was sent"
                    )
                }
            }
            // In a listing, it selects a page.
            guard name != "dir" || action == "ls" || !value.contains("%23") else {
                throw .pageMark(in: name, of: action)
            }
        }
    }
}

extension PydioError {
    /// Returns the error for a name that would make a node impossible to find: see ``NodeName/canBeTold(_:)``.
    package static func untellable(in name: String, of action: String) -> PydioError {
        PydioError(
            .invalidArgument,
            "the parameter \(name) of \(action) has a control character, which servers leave out when they tell of the "
                + "name; nothing was sent")
    }

    /// Returns the error for `%23` in a name: servers cut the path of a folder there, and interpret the rest as a page
    /// number.
    package static func pageMark(in name: String, of action: String) -> PydioError {
        PydioError(
            .invalidArgument,
            "the parameter \(name) of \(action) has a %23, at which servers cut it: they would take another folder. "
                + "Rename the folder to use what is in it; nothing was sent")
    }
}
