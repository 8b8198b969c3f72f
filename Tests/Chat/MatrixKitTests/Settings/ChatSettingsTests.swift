import Foundation
import MatrixKit
import MatrixKitTerminal
import TerminalUI
import Testing

/// Settings that users of a chat can change.
@MainActor
struct ChatSettingsTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.url.appending(path: "chat.conf") }

    init() throws { folder = try TemporaryFolder() }

    private func settings(_ lines: String...) throws -> MXKChatSettings {
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        return MXKChatSettings(file: file)
    }

    // MARK: Keys

    @Test func eachActionHasTwoKeys_thatNoOtherHas() throws {
        let keys = MXKKeyMap()
        let all = MXKKeyMap.Action.allCases.flatMap { keys.keys(of: $0) }
        #expect(Set(all).count == all.count)
        #expect(MXKKeyMap.Action.allCases.allSatisfy { keys.keys(of: $0).count == 2 })
        for key in all { #expect(MXKKeyMap.key(named: MXKKeyMap.name(of: key)) == key) }
        _ = try MXKKeyMap([:])
    }

    @Test func aChangedKeyDoesIt_andTheUsualOneDoesNot() throws {
        let settings = try settings("# mine", "key help = alt-x, ctrl-f5")
        #expect(settings.trouble == nil)
        let chat = MXKChatViewController()
        chat.settings = settings
        _ = chat.handle(.key(.function(1)))
        #expect(chat.draw(columns: 90, rows: 24).text.first != "Keys")
        _ = chat.handle(.alt("x"))
        #expect(chat.draw(columns: 90, rows: 60).text.first == "Keys")
        #expect(
            chat.draw(columns: 90, rows: 60).text.contains { $0.hasPrefix("alt-x ctrl-f5") && $0.contains("this help") }
        )
    }

    @Test(
        arguments: [
            ("key help = alt-a", "line 2: alt-a is the key of next-unread already"),
            ("key help = ctrl-c", "line 2: ctrl-c cannot be changed"), ("key help = x", "line 2: x cannot be changed"),
            ("key help = ctrl-m", "line 2: ctrl-m cannot be changed"),
            ("key help = f99", "line 2: there is no key “f99”"),
            ("key nothing = f1", "line 2: there is no action “nothing”"),
            ("theme = pink", "line 2: theme is one of dark, light, plain"),
            ("words", "line 2: expected “name = value”"),
        ] as [(String, String)])
    func whatIsWrongNamesItsLine(line: String, words: String) throws {
        let settings = try settings("members = off", line)
        #expect(settings.trouble?.contains(words) == true, "\(settings.trouble ?? "")")
        #expect(settings.keys == MXKKeyMap())
        #expect(!settings[.members])
    }

    @Test func aFileThatCannotBeReadSaysSo_andIsNotOverwritten() throws {
        let bytes = Data("theme = dark\n# caf".utf8) + [0xE9, 0x0A]
        try bytes.write(to: file)
        let settings = MXKChatSettings(file: file)
        #expect(settings.trouble == "chat.conf: line 2 is not UTF-8; all settings are the usual ones")
        #expect(settings.theme == nil)
        #expect(settings.set("theme", to: "light")?.contains("chat.conf could not be written") == true)
        #expect(settings.theme == .light)
        #expect(try Data(contentsOf: file) == bytes)
    }

    @Test func aLinkToTheFileStaysALink() throws {
        let kept = folder.url.appending(path: "kept.conf")
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "kept.conf")
        for theme in ["light", "dark"] {
            #expect(MXKChatSettings(file: file).set("theme", to: theme) == nil)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "kept.conf")
            #expect(try Data(contentsOf: kept) == Data("theme = \(theme)\n".utf8))
        }
    }

    @Test func aPlaceThatIsNoFileSaysSo() throws {
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        #expect(MXKChatSettings(file: file).trouble?.hasPrefix("chat.conf cannot be read: ") == true)
    }

    @Test func whatIsSaidBeforeTheFirstRoomStaysUntilAKey() {
        let chat = MXKChatViewController()
        chat.room.show("chat.conf is wrong")
        chat.room.displayRoom(nil)
        #expect(chat.draw(columns: 90, rows: 24).text.contains { $0.contains("chat.conf is wrong") })
        _ = chat.handle(.text("x"))
        #expect(!chat.draw(columns: 90, rows: 24).text.contains { $0.contains("chat.conf is wrong") })
    }

    @Test func twoActionsCanChangeTheirKeys() throws {
        let settings = try settings("key help = alt-a", "key next-unread = f1")
        #expect(settings.trouble == nil)
        #expect(settings.keys.action(of: .alt("a")) == .help)
        #expect(settings.keys.action(of: .key(.function(1))) == .nextUnread)
    }

    // MARK: Values

    @Test func aChangeReplacesItsLineAlone() throws {
        let settings = try settings("# my colours", "theme = dark", "", "order = name", "")
        #expect(settings.theme == .dark && settings.order == .name)
        #expect(settings.set("theme", to: "light") == nil)
        #expect(settings.set("mouse", to: "on") == nil)
        #expect(settings.set("mouse", to: "perhaps") == "mouse is one of on, off")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text == "# my colours\ntheme = light\n\norder = name\nmouse = on\n")
        let later = MXKChatSettings(file: file)
        #expect(later.theme == .light && later[.mouse] && later[.members] && !later[.emoji])
    }

    @Test func commandsChangeThem() throws {
        let chat = MXKChatViewController()
        chat.settings = MXKChatSettings(file: file)
        for input: TerminalInput in [.text("/toggle members"), .enter, .text("/theme light"), .enter] {
            _ = chat.handle(input)
        }
        #expect(!chat.showsMembers && chat.theme == .light)
        let later = MXKChatViewController()
        later.settings = MXKChatSettings(file: file)
        #expect(!later.showsMembers)
    }

    // MARK: Homeservers with public rooms

    @Test func homeserversAreKept() {
        let kit = MXKAppSettings(file: file)
        let servers = MXKDirectoryServersDataSource(matrixSession: nil, settings: kit)
        #expect(servers.numberOfCells == 0)
        for name in ["", "a b", "a/b", "a:x", "ä.org", "a:1:2"] { #expect(!servers.addServer(name), "\(name)") }
        #expect(servers.addServer("Example.org") && servers.addServer("example.org") && servers.addServer("[::1]:8448"))
        #expect(MXKAppSettings(file: file).directoryServers == ["example.org", "[::1]:8448"])
        servers.removeServer("example.org")
        #expect(servers.cellData(at: 0)?.name == "[::1]:8448" && servers.cellData(at: 1) == nil)
    }
}
