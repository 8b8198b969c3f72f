import Foundation
import Glibc
import TestSupport
import Testing

/// Switches the whole process to a locale that writes two and a half as `2,5`. A system may have no locale but `C`, so
/// this creates one: Turkish if its source is installed, otherwise one that differs only in its numbers.
func useForeignLocale() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "locales-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let numbers = folder.appending(path: "numbers").path
    try Data("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n".utf8)
        .write(to: URL(filePath: numbers))
    setenv("LOCPATH", folder.path, 1)
    let isTurkish = try await useLocale("tr_TR.UTF-8", madeWith: ["-i", "tr_TR", "-f", "UTF-8"], in: folder)
    if !isTurkish {
        let isMade = try await useLocale("numbers.made", madeWith: ["-i", numbers], in: folder)
        try #require(isMade)
    }
    try #require(strtod("2,5", nil) == 2.5)
}

private func useLocale(_ name: String, madeWith options: [String], in folder: URL) async throws -> Bool {
    // It warns about categories that a source omits, and still creates them.
    _ = try await ChildProcess.run("localedef", ["-c"] + options + [folder.appending(path: name).path])
    setenv("LC_ALL", name, 1)
    return setlocale(LC_ALL, name) != nil
}
