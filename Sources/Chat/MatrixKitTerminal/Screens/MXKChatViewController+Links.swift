import Foundation
import MatrixKit
import MatrixProtocol
import TerminalUI

private let browserSchemes: Set = ["http", "https"]

/// Links, copying, and the external editor.
extension MXKChatViewController {
    /// A link of a message: its text and its target.
    struct Link: Hashable {
        var words: String
        var url: URL

        /// The encoded address that the browser receives, so that it cannot be mistaken for another one.
        var target: String { url.absoluteString }
        /// Only these schemes are opened, whatever the desktop supports.
        var canBeOpened: Bool {
            browserSchemes.contains(url.scheme?.lowercased() ?? "") || MXKText.Pill(url) != nil
        }
    }

    /// The links of the selected message, or else of all loaded messages, newest first.
    var links: [Link] {
        guard let source = room.roomDataSource else { return [] }
        let events: [MXEvent]
        if let id = room.selectedEventId {
            events = source.event(withEventId: id).map { [$0] } ?? []
        } else {
            events = (0..<source.numberOfCells).reversed().flatMap { source.cellData(at: $0)?.events.reversed() ?? [] }
        }
        var (links, known) = ([Link](), Set<URL>())
        for event in events where !event.isState {
            guard let text = try? source.eventFormatterInUse.text(from: event, with: source.roomState) else { continue }
            for run in text.blocks.flatMap(\.runs) {
                guard let url = run.style.link, known.insert(url).inserted else { continue }
                let link = Link(words: run.text, url: url)
                if link.canBeOpened { links.append(link) }
            }
        }
        return links
    }

    /// `/links`
    func showLinks() {
        let rows = links.prefix(100).enumerated().map { index, link in
            let number = "[\(index + 1)] "
            let words = link.words == link.target ? number + link.target : "\(number)\(link.words) → \(link.target)"
            return MXKDialogViewController.Row(words) { [weak self] in self?.openLink(link.url) }
        }
        let dialog = MXKDialogViewController("Links", words: ["Enter opens the address behind →."], rows: rows)
        dialog.placeholder = "There is no link here."
        show(dialog)
    }

    /// `/link [n]`
    func openLink(_ command: MXKCommand) {
        guard !command.rest.isEmpty else { return showLinks() }
        let links = links
        guard let number = Int(command.rest), links.indices.contains(number - 1) else {
            return refuse(command, links.isEmpty ? "There is no link here." : "The links are 1 to \(links.count).")
        }
        let link = links[number - 1]
        guard link.words != link.target, MXKText.Pill(link.url) == nil else { return openLink(link.url) }
        // The text differs from the address.
        confirm("Open this address?", [link.target], action: "Open") { [weak self] in self?.openLink(link.url) }
    }

    /// Shows Matrix links here, and opens all others in the browser.
    private func openLink(_ url: URL) {
        if let target = MXKText.Pill(url) { return open(target, via: MatrixLink.servers(url)) }
        guard browserSchemes.contains(url.scheme?.lowercased() ?? "") else {
            return room.show("Only http and https addresses are opened: \(url.absoluteString)")
        }
        guard let onOpenLink else { return room.show("Links cannot be opened here: \(url.absoluteString)") }
        room.show("Opening \(url.absoluteString)")
        perform("The link was not opened") { try await onOpenLink(url) }
    }

    /// `/copy`
    func copyMessage() {
        guard let source = room.roomDataSource, let event = room.targetEvent(),
            let text = (try? source.eventFormatterInUse.text(from: event, with: source.roomState)) ?? nil
        else { return room.show("There is no message to copy.") }
        guard let onCopy else { return room.show("Nothing can be copied here.") }
        onCopy(ScreenText.cleaned(text.plain))
        room.show("Copied, if the terminal allows it.")
    }

    /// Edits the text in the external editor. The composer waits meanwhile.
    func writeInEditor() {
        guard let onEditor else { return room.show("There is no editor here.") }
        let composer = room.inputToolbarView
        let source = room.roomDataSource
        perform("The editor did not give a text") { [weak self] in
            let text = try await onEditor(composer.textMessage)
            guard let self, self.room.roomDataSource === source else { return }
            composer.textMessage = text
            self.setNeedsDisplay()
        }
    }
}
