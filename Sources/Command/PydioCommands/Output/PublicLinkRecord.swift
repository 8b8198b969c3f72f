import CommandKit
import PydioSDK

/// A public link according to the server, as a line.
struct PublicLinkRecord: ListRecord {
    let link: PydioPublicLink
    let workspaceID: String
    let path: String

    var json: String {
        var line = JSONLine(type: "link")
        line.add("workspace_id", workspaceID)
        line.add("path", path)
        line.add("link_id", link.linkId)
        line.add("url", link.url?.absoluteString)
        line.add("label", link.label)
        line.add("expires_days", link.expirationDays)
        line.add("downloads", link.downloadLimit)
        line.add("downloaded", link.downloadCount)
        line.add("has_password", json: String(link.hasPassword))
        line.add("expired", json: String(link.isExpired))
        return line.text
    }

    /// The address, or else the id.
    var address: TerminalText { TerminalText(link.url?.absoluteString ?? link.linkId) }

    /// Returns columns such as `https://example.org/public/x7f2  password  expires in 7 days  1 of 3 downloads
    /// plan.pdf`.
    func columns(style: TextStyle) -> [TerminalText] {
        [style.channel(link.url?.absoluteString ?? link.linkId), protection, expiry, downloads, label]
    }

    private var protection: TerminalText { link.hasPassword ? "password" : "" }

    private var expiry: TerminalText {
        if link.isExpired { return "expired" }
        return switch link.expirationDays {
        case nil: ""
        case 1: "expires in 1 day"
        case let days?: "expires in \(days) days"
        }
    }

    private var downloads: TerminalText {
        guard let limit = link.downloadLimit else { return link.allowsDownload ? "" : "no downloads" }
        return "\(link.downloadCount ?? 0) of \(limit) downloads"
    }

    private var label: TerminalText { TerminalText(link.label ?? "") }
}
