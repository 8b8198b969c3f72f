import CommandKit
import Foundation
import PydioSDK

/// A created public link, as a line.
struct LinkRecord {
    private let params: PublicLinkRequestParams
    private let url: URL

    init(_ params: PublicLinkRequestParams, url: URL) {
        (self.params, self.url) = (params, url)
    }

    /// Includes the requested limits, which the server may have reduced.
    var json: String {
        var line = JSONLine(type: "shared")
        line.add("workspace_id", params.workspaceId)
        line.add("path", params.path)
        line.add("url", url.absoluteString)
        line.add("label", params.label)
        line.add("expires_days", params.expirationDays)
        line.add("downloads", params.downloadLimit)
        line.add("has_password", json: String(params.password != nil))
        return line.text
    }

    /// The link alone, for use in pipes.
    var text: TerminalText { TerminalText(url.absoluteString) }
}
