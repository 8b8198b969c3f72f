import MatrixProtocol
import TerminalUI

private let ctrlC: UInt8 = 3

/// Input from a terminal. The first byte determines the split of the rest into pieces.
func fuzzTerminalInput(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let size = bytes.first.map({ Int($0 % 7) + 1 }) else { return }
    let rest = Array(bytes.dropFirst())
    var (whole, cut) = (InputParser(), InputParser())
    let inputs = joined(whole.parse(rest))
    var pieces: [TerminalInput] = []
    var start = 0
    while start < rest.count {
        var end = min(start + size, rest.count)
        // Within a paste, only a key at the end of a piece counts as pressed.
        while end < rest.count, rest[end - 1] == ctrlC { end += 1 }
        pieces += cut.parse(rest[start..<end])
        start = end
    }
    let hasLongCtrlC = String(decoding: rest, as: UTF8.self).contains(";5u")  // as the kitty protocol says it
    try claim("it does not matter how it is cut", hasLongCtrlC || inputs == joined(pieces))
    for case .text(let text) in inputs {
        try claim(
            "what is typed is no control", text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    }
    var editor = LineEditor(form: .severalLines)
    for input in inputs { _ = editor.handle(input) }
    try claim("a line has a bound", editor.line.utf8.count <= LineEditor.maximumSize)
}

private func joined(_ inputs: [TerminalInput]) -> [TerminalInput] {
    inputs.reduce(into: []) { result, input in
        if case .text(let more) = input, case .text(let text) = result.last {
            result[result.count - 1] = .text(text + more)
        } else {
            result.append(input)
        }
    }
}

/// Text from strangers for a screen. The first byte is the screen's width.
func fuzzScreenText(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let columns = bytes.first.map({ Int($0 % 80) + 1 }) else { return }
    let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
    let cleaned = ScreenText.cleaned(text)
    try claim(
        "nothing drives the terminal",
        cleaned.unicodeScalars.allSatisfy {
            $0 == "\n" || $0.properties.generalCategory != .control && !$0.properties.isBidiControl
        })
    try claim(
        "what is clean stays as it is", ScreenText.cleaned(cleaned).unicodeScalars.elementsEqual(cleaned.unicodeScalars)
    )
    try claim("a name is one line", !ScreenText.cleanedName(text).contains("\n"))
    for profile in [WidthProfile.unicode, .tmux, .wcwidth] {
        let lines = TextLayout(columns: columns, profile).lines(StyledText(cleaned))
        try claim("no line is too wide", lines.allSatisfy { $0.columns <= columns })
    }
}

func fuzzPNG(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let image = try? PNG.decode(bytes) else { return }
    try claim("an image has its pixels", image.pixels.count == 4 * image.width * image.height)
    try claim("an image has a bound", image.pixels.count <= PNG.maximumBytes)
}

/// JPEG images. With the trait `JPEGImages`, also libjpeg-turbo's result and Exif data.
func fuzzJPEG(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let image = TerminalImage(file: bytes) else { return }
    try claim("an image has its pixels", image.pixels.count == 4 * image.width * image.height)
    try claim("an image has a bound", image.pixels.count <= PNG.maximumBytes)
}

/// HTML in messages.
func fuzzHTML(_ bytes: [UInt8]) throws(BrokenClaim) {
    let html = String(decoding: bytes, as: UTF8.self)
    var size = 0
    for token in HTMLScanner(html) {
        switch token {
        case .text(let text):
            try claim("there is text in a text", !text.isEmpty)
            size += text.utf8.count
        case .tag: break
        }
    }
    try claim("what comes out has been there", size <= html.utf8.count)
}
