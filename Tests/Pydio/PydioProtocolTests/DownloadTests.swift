import Foundation
import PydioProtocol
import Testing
import Transport

/// How a download differs from an answer about one (section 6.6 of the protocol's notes).
struct DownloadTests {
    private func head(_ status: Int, _ fields: HTTPFields) -> HTTPResponse {
        HTTPResponse(status: status, fields: fields)
    }

    @Test(
        arguments: [
            (200, ["Content-Type": "application/octet-stream"], true), (200, ["Content-Type": "application/zip"], true),
            (200, ["Content-Type": "Application/Force-Download; name=x"], true),
            (200, ["Content-Disposition": "Attachment; filename=x", "Content-Type": "text/html"], true),
            (200, ["Content-Disposition": "inline"], false), (200, ["Content-Transfer-Encoding": "Binary"], true),
            (200, ["Content-Transfer-Encoding": "base64"], false), (200, ["Content-Type": "text/html"], false),
            (200, ["Content-Type": "text/xml"], false), (200, [:], false), (206, [:], true),
            (206, ["Content-Type": "text/html"], true), (201, ["Content-Type": "application/zip"], false),
            (404, ["Content-Disposition": "attachment"], false), (205, ["Content-Type": "application/zip"], false),
        ] as [(Int, HTTPFields, Bool)])
    func theHeadTells(status: Int, fields: HTTPFields, isDownload: Bool) {
        #expect(Download.isDownload(head(status, fields)) == isDownload)
        var response = head(status, fields)
        response.body = [0x31]
        if case .value(let bytes) = AnswerRecogniser.downloadedBytes.read(response) {
            #expect(isDownload && bytes == Data([0x31]))
        } else {
            #expect(!isDownload)
        }
    }

    /// An XML file is rejected if it could be the server's own answer.
    @Test func aDocumentIsNoDownloadInMemory() {
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": "text/xml", "Content-Disposition": "attachment"],
            body: Array("<a/>".utf8))
        if case .value = AnswerRecogniser.downloadedBytes.read(response) { Issue.record("it is a document") }
    }
}
