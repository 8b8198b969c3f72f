import PydioSDK
import SwiftMatrixSDK
import Testing

/// The API that programs for the iOS SDKs of Matrix and Pydio use exists; MatrixSDKTests covers its behaviour.
struct OlderMatrixProgramTests {
    @MainActor
    @Test func aProgramWithoutALoginIsToldSo() async throws {
        let program = MatrixProgram()
        program.configureFetcher()
        #expect(program.roomListDataFetcher == nil)
        program.session = MXSession(credentials: MXCredentials(from: .failure(CancellationError())))
        program.session?.delegate = program
        program.configureFetcher()
        #expect(program.listed.isEmpty && program.publicRooms().isEmpty && program.names().isEmpty)
        let error = await withCheckedContinuation { continuation in
            program.session?.start { continuation.resume(returning: $0.error) }
        }
        #expect((error as? MatrixError)?.code == .unauthenticated)
    }

    @Test func theOriginalNumbersOfPydiosErrors() {
        #expect(needsCaptcha(PydioError(.getSeedWithCaptcha, "x")) == (true, true))
        #expect(needsCaptcha(PydioError(.loginWithCaptcha, "x")) == (true, true))
        #expect(needsCaptcha(PydioError(.unableToLogin, "x")) == (false, false))
        #expect(isWrongPassword(PydioError(.unableToLogin, "x")))
        #expect(!isWrongPassword(PydioError(.network, "x")))
        let numbers = [
            PydioErrorUnableToParseAnswer, PydioErrorRequireAuthorization, PydioErrorUnableToLogin,
            PydioErrorGetSeedWithCaptcha, PydioErrorLoginWithCaptcha, PydioErrorErrorResponse,
            PydioErrorReceivedNotExpectedAnswer, PydioErrorNotAZipFileResponse,
        ]
        #expect(numbers == Array(1...8))
        #expect((PydioError(.network, "x") as NSError).domain == PydioErrorDomain)
        #expect(PydioError(.http(status: 404), "x").code != PydioErrorErrorResponse)
    }
}
