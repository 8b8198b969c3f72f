import ArgumentParser
import CommandKit
import Foundation
import PydioSDK

struct PydioUnshareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unshare", abstract: "End all sharing of a file or a folder, or one of its public links.",
        discussion: """
            All its public links stop working; with --link, only that one. If others share it with you, that does not \
            change.

            Examples:
              pusher-cli pydio unshare plans:/plan.pdf
              pusher-cli pydio unshare plans:/docs --link https://example.org/public/x7f2
            """)

    /// The maximum number of links of one file.
    private static let maximumShares = 200

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remote: RemotePath

    @Option(
        help: ArgumentHelp("Only end this link, as links prints it.", valueName: "link"),
        transform: { try LinkArgument($0) })
    var link: LinkArgument?

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !remote.isTop else { throw ValidationError("A workspace as a whole is not shared: name what is in it.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(remote.workspace)
            _ = try await workspace.existingNode(at: remote.path)
            if let link {
                try await workspace.client.revokePublicLink(
                    workspaceId: workspace.id, path: remote.path, linkId: link.id)
            } else {
                try await endShares(in: workspace)
            }
            let report = TransferReport(json: json)
            report.done(TransferRecord(kind: .unshared, workspaceID: workspace.id, path: remote.path))
            try report.end()
        }
    }

    private func endShares(in workspace: PydioWorkspace) async throws {
        switch try await isShared(in: workspace) {
        case false?: throw CommandFailure(.badData, "\(remote) is not shared")
        case nil:
            // Servers that cannot report shares end all of them at once, and confirm it.
            guard try await unshare(in: workspace).message != nil else {
                throw CommandFailure(.unavailable, "the server does not say whether \(remote) is still shared")
            }
        case true?:
            for _ in 0..<Self.maximumShares {
                _ = try await unshare(in: workspace)
                if try await isShared(in: workspace) != true { return }
            }
            throw CommandFailure(.unavailable, "\(remote) is still shared: the server does not end it")
        }
    }

    private func unshare(in workspace: PydioWorkspace) async throws -> PydioSuccessResponse {
        try await workspace.client.unshare(workspaceId: workspace.id, path: remote.path, elementType: "minisite")
    }

    /// Returns `nil` if the server does not tell: some versions fail to find shared items.
    private func isShared(in workspace: PydioWorkspace) async throws -> Bool? {
        // Version 5.2.5 does not report a link, only the workspace that it created for it.
        for elementType in ["minisite", "repository"] {
            do {
                let data = try await workspace.client.loadSharedElementData(
                    workspaceId: workspace.id, path: remote.path, elementType: elementType)
                switch try? JSONSerialization.jsonObject(with: data) {
                case let shares as [Any]: return !shares.isEmpty
                case let share as [String: Any]: return !share.isEmpty
                case _: continue
                }
            } catch let error as PydioError where error.code == .receivedNotExpectedAnswer {
                continue
            } catch let error as PydioError where error.code == .errorResponse {
                return nil
            }
        }
        return nil
    }
}
