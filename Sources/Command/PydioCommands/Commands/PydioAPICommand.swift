import ArgumentParser
import CommandKit
import Foundation
import PydioSDK

struct PydioAPICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api", abstract: "Send a request to the server's REST interface, and print the answer.",
        discussion: """
            For what no other command does. The request is signed with your key pair; servers have them from version 6 \
            on, and REST version 2 from 7 on. PATH is what follows api/ in the address, not percent-encoded. A folder \
            that version 2 is to create ends with a slash.

            Examples:
              pusher-cli pydio api GET v2/user/workspaces
              pusher-cli pydio api GET v2/fs/my-files/docs --param children=df
              pusher-cli pydio api POST v2/fs/my-files/new/
              pusher-cli pydio api PUT v2/io/my-files/a.txt --input a.txt
              pusher-cli pydio api GET v2/user/workspaces --field Accept-Language=de
            """)

    @Argument(
        help: ArgumentHelp("GET, POST, PUT, PATCH or DELETE.", valueName: "method"),
        transform: { text in
            guard let method = PydioRESTRequest.Method(rawValue: text.uppercased()) else {
                throw ValidationError("METHOD must be GET, POST, PUT, PATCH or DELETE.")
            }
            return method
        })
    var method: PydioRESTRequest.Method

    @Argument(help: ArgumentHelp("Behind api/: v2/fs/my-files/docs.", valueName: "path"))
    var path: String

    @Option(help: ArgumentHelp("A parameter. Can be repeated.", valueName: "name=value"))
    var param: [String] = []

    @Option(help: ArgumentHelp("A header field. Can be repeated.", valueName: "name=value"))
    var field: [String] = []

    @Option(help: ArgumentHelp("What to send: a file, or - for standard input.", valueName: "file"))
    var input: String?

    @Option(
        name: .customLong("type"),
        help: ArgumentHelp(
            "What the input is. Default: application/json with PATCH, else application/octet-stream.",
            valueName: "type"))
    var contentType: String?

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !path.split(separator: "/").isEmpty else { throw ValidationError("PATH cannot be empty.") }
        _ = try Self.pairs(param, option: "--param")
        _ = try Self.pairs(field, option: "--field")
        guard input == nil || method != .get else { throw ValidationError("--input does not go with GET.") }
        guard contentType == nil || input != nil else { throw ValidationError("--type needs --input.") }
    }

    private static func pairs(_ texts: [String], option: String) throws -> [String: String] {
        var pairs: [String: String] = [:]
        for text in texts {
            guard let mark = text.firstIndex(of: "="), mark != text.startIndex else {
                throw ValidationError("\(option) must be name=value.")
            }
            let name = String(text[..<mark])
            guard pairs.updateValue(String(text[text.index(after: mark)...]), forKey: name) == nil else {
                throw ValidationError("\(option) has \(TerminalText(name).text) twice.")
            }
        }
        return pairs
    }

    /// The maximum size of a request body, in bytes, which is held in memory; `put` uploads larger files.
    private static let maximumInput = 64 << 20

    func run() async throws {
        var request = PydioRESTRequest(method, path)
        request.parameters = try Self.pairs(param, option: "--param")
        request.fields = try Self.pairs(field, option: "--field")
        request.body = try input.map { input throws(CommandFailure) in
            try Input.bytes(of: input, limit: Self.maximumInput)
        }
        request.contentType = contentType ?? (method == .patch ? "application/json" : request.contentType)
        try await pydio.run { [request] account in
            let answer = try await account.client.rest(request)
            StatusLine.endWait()
            if answer.isJSON {
                _ = StandardOutput.write(json: String(decoding: answer.body, as: UTF8.self))
            } else if StandardOutput.isTerminal {
                _ = StandardOutput.write("\(String(decoding: answer.body, as: UTF8.self))")
            } else {
                _ = StandardOutput.write(answer.body)
            }
            try StandardOutput.requireTaken()
        }
    }
}
