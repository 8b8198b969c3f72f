import Basics
import PydioProtocol
import Transport

/// The requests that a ``WorkspaceMachine`` orders.
struct WorkspaceRequests: Sendable {
    let client: PydioClient
    let workspaceId: String
    let maximumNodes: Int
    /// The mailbox's client id.
    let clientId = UUID().uuidString.lowercased()

    func carryOut(_ request: WorkspaceMachine.Request) async throws -> WorkspaceMachine.Answer {
        try await LoginRepetition.$isAllowed.withValue(false) { try await answer(to: request) }
    }

    private func answer(to request: WorkspaceMachine.Request) async throws -> WorkspaceMachine.Answer {
        switch request.step {
        case .discover: return .services(try await services())
        case .register:
            try await client.registerChannel(workspaceId: workspaceId, clientId: clientId)
            return .registered
        case .consume:
            let messages = try await client.consumeChannel(workspaceId: workspaceId, clientId: clientId)
            return .messages(messages, generation: client.sessionGeneration)
        case .consumeLast:
            let messages = try await client.consumeChannel(workspaceId: workspaceId, clientId: clientId)
            // Ignore a failure: the mailbox expires automatically.
            try? await client.unregisterChannel(workspaceId: workspaceId, clientId: clientId)
            return .messages(messages, generation: client.sessionGeneration)
        case .list: return .listing(try await listing(includesBin: request.includesBin))
        case .readChanges(let isFlattened):
            return .changes(
                try await client.changes(
                    workspaceId: workspaceId, since: request.sequence ?? 0,
                    isFlattened: isFlattened || request.sequence == nil))
        }
    }

    func unregister() async {
        await LoginRepetition.$isAllowed.withValue(false) {
            _ = try? await client.unregisterChannel(workspaceId: workspaceId, clientId: clientId)
        }
    }

    // MARK: Services

    /// Finds the workspace's services. Servers answer requests for an unknown workspace from another one, so it first
    /// checks that the workspace exists.
    private func services() async throws -> WorkspaceServices {
        guard try await client.listWorkspaces().contains(where: { $0.workspaceId == workspaceId }) else {
            throw PydioError(
                .invalidArgument, "the user has no workspace with the id \(workspaceId); listWorkspaces() gives the ids"
            )
        }
        do {
            let registry = try await client.plugins(workspaceId: workspaceId)
            return WorkspaceServices(registry: registry) ?? WorkspaceServices()
        } catch let error as PydioError {
            switch error.code {
            case .errorResponse, .receivedNotExpectedAnswer, .unableToParseAnswer, .tooLarge:
                return WorkspaceServices()  // the server doesn't list them: all servers have mailboxes
            case .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha, .http,
                .notAZipFileResponse, .invalidArgument, .file, .notPermitted, .unsupportedServer, .unsupportedOperation,
                .network,
                .timedOut, .cancelled:
                throw error
            @unknown default: throw error
            }
        }
    }

    // MARK: Listing

    private func listing(includesBin: Bool) async throws -> NodeIndex? {
        guard maximumNodes > 0 else { return nil }
        var index = NodeIndex()
        var folders = ["/"]
        var listed: Set<NodePath> = []
        while let folder = folders.popLast() {
            guard listed.insert(NodePath(folder)).inserted else { continue }
            guard let node = try await contents(of: folder) else {
                if folder == "/" { return nil }
                index.couldNotList(folder)
                continue
            }
            guard index.add(node, maximum: maximumNodes, includesBin: includesBin) else { return nil }
            folders += Self.unlistedFolders(in: node)
        }
        return index
    }

    /// - Returns: `nil` if the folder cannot be read, is gone or is too large.
    private func contents(of folder: String) async throws -> NodeResponse? {
        var params = ListNodesRequestParams(workspaceId: workspaceId, path: folder)
        params.isRecursive = true
        do {
            return try await client.listAllNodes(params)
        } catch let error as PydioError where error.code == .tooLarge {
            return nil
        } catch let error as PydioError where error.code == .errorResponse && folder != "/" {
            return nil
        }
    }

    /// Returns the folders that a recursive listing omitted, wholly or in part.
    private static func unlistedFolders(in node: NodeResponse) -> [String] {
        var result: [String] = []
        var waiting = node.children ?? []
        while let node = waiting.popLast() {
            if node.pagination.map({ $0.total > 1 }) ?? (node.hasUnlistedChildren && node.children == nil) {
                result.append(node.fullPath)
            }
            waiting += node.children ?? []
        }
        return result
    }
}

extension PydioClient {
    /// Returns the part of the registry with the plugins, including those of a workspace.
    fileprivate func plugins(workspaceId: String) async throws -> XMLNode {
        var request = PydioRequest(
            .get, "get_xml_registry", ["xPath": "plugins", "tmp_repository_id": .text(workspaceId)], path: ["xPath"])
        request.restAction = ["state"]
        return try await call(request, .document(of: "the request for the server's plugins"))
    }

    /// Allows the next login after a refused one: the cause may have been fixed.
    func forgetRefusedLogin() { params.session(for: serverURL).change { $0.forgetRefusal() } }

    /// Identifies the session; changes with each login.
    fileprivate var sessionGeneration: Int { (try? operations().authorization.pass().0.generation) ?? 0 }
}
