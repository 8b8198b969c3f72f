import TestSupport
import Testing

/// Shell completion.
@Suite(.overSockets)
struct CompletionScriptTests {
    @Test func contexts_roomsAndProfilesAreOffered() async throws {
        let run = try CommandRun(["--generate-completion-script", "bash"])
        #expect(await run.status() == 0)
        for asked in [
            "---completion subscribe -- --context", "---completion context show -- positional@0",
            "---completion matrix send -- positional@0", "---completion matrix search -- --room",
        ] { #expect(run.outputText.contains(asked)) }
        #expect(run.outputText.contains("vendor") && run.outputText.contains("reverb"))
    }
}
