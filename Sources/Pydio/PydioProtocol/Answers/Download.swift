import Basics
package import Foundation
package import Transport

/// Distinguishes a download from another answer (6.6).
package enum Download {
    /// Returns whether an answer is a download, by its head. Documents, pages and error texts are not.
    package static func isDownload(_ head: HTTPResponse) -> Bool {
        // Old servers don't set a type for a range.
        if head.status == 206 { return true }
        guard head.status == 200 else { return false }
        let type = (head.fields["Content-Type"] ?? "").prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
        if head.fields["Content-Transfer-Encoding"]?.lowercased() == "binary" { return true }
        if head.fields["Content-Disposition"]?.lowercased().hasPrefix("attachment") == true { return true }
        return type == "application/force-download" || type == "application/octet-stream" || type == "application/zip"
    }
}

extension AnswerRecogniser where Value == Data {
    package static let downloadedBytes = Self("the download") { body in
        body.document == nil && Download.isDownload(body.head) ? .value(Data(body.bytes)) : .other
    }
}

extension AnswerRecogniser where Value == HTTPResponse {
    /// The head of a download whose bytes are already in a file.
    package static let downloadHead = Self("the download") { body in
        Download.isDownload(body.head) ? .value(body.head) : .other
    }
}

extension PydioError {
    /// The error for an answer received instead of a download.
    package var insteadOfDownload: PydioError {
        guard code == .receivedNotExpectedAnswer else { return self }
        var error = PydioError(.notAZipFileResponse, "the server did not send what was to be downloaded; " + message)
        error.status = status
        error.excerpt = excerpt
        return error
    }
}
