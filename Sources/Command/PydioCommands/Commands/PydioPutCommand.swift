import ArgumentParser
import Basics
import CommandKit
import Foundation
import PydioSDK

struct PydioPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Upload files or folders, and print where they are.",
        usage: "pusher-cli pydio put <local> ... <remote> [<options>]",
        discussion: """
            Uploads into REMOTE if that is a folder or ends with a slash; otherwise REMOTE is the new name. With \
            --recursive, folders are uploaded with everything in them, except symbolic links unless you use \
            --dereference. Whatever cannot be uploaded is reported, and the rest is still uploaded.

            Servers leave out some characters of names, such as quotation marks and question marks. The path that is \
            printed is the one that the server chose. Two files whose names become the same never replace each other.

            With --verify, the server is asked for the MD5 of each file that it has received. A file that differs is \
            reported and kept there, and the exit status is 65. If the server computes no MD5, nothing is uploaded, \
            and the exit status is 69.

            Examples:
              pusher-cli pydio put plan.pdf photo.jpg plans:/docs/
              pusher-cli pydio put --recursive ~/plans plans:/archive
              make 2>&1 | pusher-cli pydio put - plans:/log.txt --force
            """)

    @Argument(
        help: ArgumentHelp(
            "Files, folders, or - for standard input; then the target: WORKSPACE:/path.",
            valueName: "local ... remote"),
        completion: .file())
    var paths: [String]

    @Flag(name: .shortAndLong, help: "Upload folders with everything in them.")
    var recursive = false

    @Flag(
        name: [.customLong("dereference"), .customShort("L")], help: "Upload what symbolic links in folders lead to.")
    var followsLinks = false

    @Flag(help: "Replace existing files.")
    var force = false

    @Flag(help: "Compare each file's MD5 with the one that the server computes.")
    var verify = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    private var locals: ArraySlice<String> { paths.dropLast() }

    private static func name(of local: String) -> String { URL(filePath: local).standardizedFileURL.lastPathComponent }

    func validate() throws {
        guard paths.count > 1, let last = paths.last else { throw ValidationError("Give a source and a target.") }
        let remote = try RemotePath(last)
        guard !locals.contains("") else { throw ValidationError("LOCAL cannot be empty.") }
        guard !locals.contains("-") || (locals.count == 1 && !remote.isFolder) else {
            throw ValidationError("Standard input becomes one file: give its name, WORKSPACE:/path/name.")
        }
        guard Set(texts: locals.map(Self.name)).count == locals.count else {
            throw ValidationError("Two sources with the same name cannot go into one folder.")
        }
    }

    func run() async throws {
        let remote = try RemotePath(paths.last ?? "")
        try await pydio.run { account in
            let workspace = try await account.workspace(remote.workspace)
            let report = TransferReport(json: json)
            let upload = WorkspaceUpload(
                workspace: workspace, replaces: force, followsLinks: followsLinks, verifies: verify,
                report: report)
            if verify { try await workspace.requireContentHashes() }
            if locals.first == "-" {
                _ = try await upload.room(at: remote, for: "-")  // before waiting for input
                try await TemporaryFile.withPath { file in
                    try Input.copyStandardInput(to: file)
                    try await upload.file(file, "-", to: remote)
                }
                return try report.end()
            }
            let isInto = try await isFolder(remote, in: workspace)
            for local in locals {
                let target = isInto ? remote.appending(Self.name(of: local)) : remote
                try await report.skipping(local) {
                    try await put(URL(filePath: local), local, to: target, by: upload)
                }
            }
            try report.end()
        }
    }

    /// Returns whether the target is a folder to put files into, rather than a file to replace.
    private func isFolder(_ remote: RemotePath, in workspace: PydioWorkspace) async throws -> Bool {
        let node = try await workspace.node(at: remote.path)
        guard node != .folder else { return true }
        guard !remote.isFolder, locals.count == 1 else {
            throw CommandFailure(.badData, "there is no folder \(remote)")
        }
        return false
    }

    private func put(_ source: URL, _ local: String, to target: RemotePath, by upload: WorkspaceUpload) async throws {
        switch LocalNode.followed(source) {
        case .file: try await upload.file(source, local, to: target)
        case .folder:
            guard recursive else {
                throw CommandFailure(.badData, "\(local) is a folder: --recursive uploads what is in it")
            }
            try await upload.folder(source, to: target)
        case .link, .other: throw CommandFailure(.badData, "\(local) is neither a file nor a folder")
        case nil: throw CommandFailure(.badData, "there is no \(local)")
        }
    }
}
