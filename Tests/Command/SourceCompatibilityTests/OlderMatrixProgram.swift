import PydioSDK
import SwiftMatrixSDK

// Written like programs for the iOS SDKs of Matrix and Pydio: nothing is Sendable, nothing async.

/// Logs in, lists rooms and creates one.
class MatrixProgram: MXSessionDelegate, MXRoomListDataFetcherDelegate {
    var session: MXSession?
    var roomListDataFetcher: MXRoomListDataFetcher?
    var listed: [MXRoomSummaryProtocol] = []
    var errors: [String] = []

    func logIn(to restClient: MXRestClient, username: String, password: String, then done: @escaping () -> Void) {
        restClient.login(username: username, password: password) { response in
            let credentials = MXCredentials(from: response)
            self.session = MXSession(credentials: credentials)
            self.session?.delegate = self
            done()
        }
    }

    func configureFetcher() {
        let sortOptions = MXRoomListDataSortOptions(missedNotificationsFirst: true, unreadMessagesFirst: true)
        let filterOptions = MXRoomListDataFilterOptions(showAllRoomsInHomeSpace: true)
        let roomListDataFetchOptions = MXRoomListDataFetchOptions(
            filterOptions: filterOptions, sortOptions: sortOptions)
        roomListDataFetcher = session?.roomListDataManager?.fetcher(withOptions: roomListDataFetchOptions)
        roomListDataFetcher?.addDelegate(self)
        roomListDataFetcher?.refresh()
    }

    func fetcherDidChangeData(_ fetcher: MXRoomListDataFetcher, totalCountsChanged: Bool) {
        listed = fetcher.data?.rooms ?? []
    }

    func createRoom(name: String, isDirect: Bool, userIds: [String], then done: @escaping (String?) -> Void) {
        let params = MXRoomCreationParameters()
        params.name = name
        params.isDirect = isDirect
        params.inviteArray = userIds
        params.preset = isDirect ? kMXRoomPresetTrustedPrivateChat : kMXRoomPresetPrivateChat
        session?.createRoom(parameters: params) { response in
            done(response.value?.roomId)
        }
    }

    func publicRooms() -> [String] {
        guard let session = session else { return [] }
        return session.rooms.filter { $0.state?.isJoinRulePublic == true }.map { $0.roomId }
    }

    func names() -> [String] {
        return session?.users().map { $0.displayname ?? $0.userId } ?? []
    }

    func session(_ session: MXSession, didReceiveError error: Error) {
        errors.append(error.localizedDescription)
    }
}

/// The handling of a failure, in both forms that older programs use.
func needsCaptcha(_ error: PydioError) -> (Bool, Bool) {
    let number = (error as NSError).code
    return (
        error.code == PydioErrorGetSeedWithCaptcha || error.code == PydioErrorLoginWithCaptcha,
        number == PydioErrorGetSeedWithCaptcha || number == PydioErrorLoginWithCaptcha
    )
}

func isWrongPassword(_ error: PydioError) -> Bool {
    switch error.code {
    case PydioErrorUnableToLogin: return true
    default: return false
    }
}
