import Basics
package import Transport

/// One request to a server, before it is known how it will be authorised.
///
/// With a session it goes to the script as parameters; with a key pair it goes to the REST interface, where the workspace, the
/// action and some of the parameters are the path (sections 6 and 11.1 of the protocol's notes).
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
    /// Those of the parameters that the REST interface takes as parts of the path, in order.
    package var pathParameters: [String]
    /// What the REST interface calls the action, if something else: one or more segments of the path.
    package var restAction: [String]?
    /// Whether the REST interface has it without a workspace.
    package var isGlobal = false
    /// Of a request that goes to the REST interface alone.
    var rest: REST?
    /// The file of a multipart body.
    package var upload: Upload?
    /// Where an answer goes that is a download.
    package var answerFile: HTTPAnswerFile?
    /// The value of the field `Range`.
    package var range: String?
    /// Whether it must not be sent twice: over a connection that was kept alive and breaks it would be. So with all that may
    /// change something.
    package var isSentOnce: Bool
    /// Texts among the parameters that no error may quote.
    package var secrets: [String] = []

    /// A request as the REST interface has it, whatever the script calls such a thing.
    struct REST: Sendable {
        /// Behind `api/`, not encoded.
        let path: String
        let fields: [String: String]
        let body: (bytes: [UInt8], type: String)?
        let isVersion2: Bool
    }

    /// Whether it cannot be sent in a session.
    package var needsKeyPair: Bool { rest != nil }

    /// What is uploaded.
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

    /// Neither parameters nor paths.
    package var description: String { "the request \(action)" }

    /// Names and values as they are sent, not encoded yet: in the order of their names.
    package static func flattened(_ parameters: [String: PydioParameter]) -> [(name: String, value: String)] {
        parameters.sorted { $0.key < $1.key }.flatMap { name, value -> [(name: String, value: String)] in
            switch value {
            case .text(let text): [(name, text)]
            case .list(let texts): texts.map { (name + "[]", $0) }
            }
        }
    }

    /// Parameters that are paths or names of nodes.
    private static let nodeParameters: Set<String> = [
        "dir", "file", "nodes", "dest", "dirname", "filename", "filename_new", "node", "bm_path",
    ]

    /// Parameters that are new names of nodes.
    private static let newNameParameters: Set<String> = ["dirname", "filename", "filename_new", "archive_name"]

    /// Refuses what no server takes, or could take for something else.
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
            // A listing has it to choose a page.
            guard name != "dir" || action == "ls" || !value.contains("%23") else {
                throw .pageMark(in: name, of: action)
            }
        }
    }
}

extension PydioError {
    /// Nobody could find what has such a name: see ``NodeName/canBeTold(_:)``.
    package static func untellable(in name: String, of action: String) -> PydioError {
        PydioError(
            .invalidArgument,
            "the parameter \(name) of \(action) has a control character, which servers leave out when they tell of the "
                + "name; nothing was sent")
    }

    /// Servers cut the path of a folder at `%23`, and take what follows for the number of a page.
    package static func pageMark(in name: String, of action: String) -> PydioError {
        PydioError(
            .invalidArgument,
            "the parameter \(name) of \(action) has a %23, at which servers cut it: they would take another folder. "
                + "Rename the folder to use what is in it; nothing was sent")
    }
}
