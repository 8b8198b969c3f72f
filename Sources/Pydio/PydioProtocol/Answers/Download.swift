import Basics
package import Foundation
package import Transport

/// What tells a download from an answer about one (6.6).
package enum Download {
    /// By the head alone. Documents, pages and texts of errors are none.
    package static func isDownload(_ head: HTTPResponse) -> Bool {
        // A part has no type of its own on old servers.
        if head.status == 206 { return true }
        guard head.status == 200 else { return false }
        let type = (head.fields["Content-Type"] ?? "").prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
        if head.fields["Content-Transfer-Encoding"]?.lowercased() == "binary" { return true }
        if head.fields["Content-Disposition"]?.lowercased().hasPrefix("attachment") == true { return true }
        return type == "application/force-download" || type == "application/octet-stream" || type == "application/zip"
    }
}

extension AnswerRecogniser where Value == Data {
    /// A download in memory.
    package static let downloadedBytes = Self("the download") { body in
        body.document == nil && Download.isDownload(body.head) ? .value(Data(body.bytes)) : .other
    }
}

extension AnswerRecogniser where Value == HTTPResponse {
    /// The head of a download whose bytes are in a file by now.
    package static let downloadHead = Self("the download") { body in
        Download.isDownload(body.head) ? .value(body.head) : .other
    }
}

extension PydioError {
    /// What an answer is to who waits for a download.
    package var insteadOfDownload: PydioError {
        guard code == .receivedNotExpectedAnswer else { return self }
        var error = PydioError(.notAZipFileResponse, "the server did not send what was to be downloaded; " + message)
        error.status = status
        error.excerpt = excerpt
        return error
    }
}
