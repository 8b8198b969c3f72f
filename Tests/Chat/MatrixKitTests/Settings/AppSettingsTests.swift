import Foundation
import MatrixKit
import TestSupport
import Testing

@MainActor @Suite struct AppSettingsTests {
    private func file() -> URL {
        FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)").appending(
            path: "settings.json")
    }

    @Test func whatIsChosenIsKept() throws {
        let file = file()
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        let settings = MXKAppSettings(file: file)
        settings.showRedactionsInRoomHistory = true
        settings.addSupportedEventTypes(["org.example"])
        settings.removeSupportedEventTypes(["m.sticker"])
        let again = MXKAppSettings(file: file)
        #expect(again.showRedactionsInRoomHistory && again.fileTrouble == nil)
        #expect(again.eventsFilterForMessages.contains("org.example"))
        #expect(!again.eventsFilterForMessages.contains("m.sticker"))
        again.reset()
        #expect(!MXKAppSettings(file: file).showRedactionsInRoomHistory)
    }

    @Test func aLinkToTheFileStaysALink() throws {
        let file = file()
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "kept.json")
        MXKAppSettings(file: file).showRedactionsInRoomHistory = true
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "kept.json")
        #expect(MXKAppSettings(file: file).showRedactionsInRoomHistory)
    }

    @Test(arguments: ["{", "[]", #"{"showsRedactions":"yes"}"#, ""])
    func aFileThatCannotBeReadIsToldAndLeft(content: String) throws {
        let file = file()
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        try Data(content.utf8).write(to: file)
        let settings = MXKAppSettings(file: file)
        #expect(settings.fileTrouble?.contains(file.path()) == true)
        settings.showRedactionsInRoomHistory = true
        #expect(settings.showRedactionsInRoomHistory)
        #expect(try Data(contentsOf: file) == Data(content.utf8))
    }

    @Test func whatAFileLeavesOutIsAsUsual_andWhatItHasMoreIsIgnored() throws {
        let file = file()
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        try Data(#"{"hidesUndecryptable":true,"ofALaterVersion":1}"#.utf8).write(to: file)
        let settings = MXKAppSettings(file: file)
        #expect(
            settings.hideUndecryptableEvents && settings.sortRoomMembersUsingLastSeenTime && settings.fileTrouble == nil
        )
    }
}
