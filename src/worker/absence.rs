//! DROP DATABASE and its like want the database to themselves: rea's workers leave first and come back afterwards.
//!
//! PostgreSQL waits five seconds for other sessions and then fails; without this, no database that holds rea could be
//! dropped, renamed, moved or copied while its workers run. Workers are only sent away for a command that the caller may
//! run; they return as soon as it has ended, whatever its end.

use super::board::{Seat, board};
use super::wake;
use pgrx::prelude::*;
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a command waits for the workers to leave; then PostgreSQL says what is in the way.
const PATIENCE: Duration = Duration::from_secs(5);
/// Wait between two looks.
const STEP: Duration = Duration::from_millis(5);

type Hook = unsafe extern "C-unwind" fn(
    *mut pg_sys::PlannedStmt,
    *const std::ffi::c_char,
    bool,
    pg_sys::ProcessUtilityContext::Type,
    pg_sys::ParamListInfo,
    *mut pg_sys::QueryEnvironment,
    *mut pg_sys::DestReceiver,
    *mut pg_sys::QueryCompletion,
);

unsafe extern "C-unwind" {
    /// Declared here and not taken from pgrx, whose wrapper catches and rebuilds every error: the errors of other
    /// people's commands must pass through untouched, with their SQLSTATE, context and position.
    fn standard_ProcessUtility(
        statement: *mut pg_sys::PlannedStmt,
        text: *const std::ffi::c_char,
        read_only_tree: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        parameters: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        receiver: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );
}

static NEXT: OnceLock<Option<Hook>> = OnceLock::new();

thread_local! {
    /// Place on the board that keeps workers away on behalf of this session's command.
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Hooks into utility commands; for a preloaded library only.
pub fn init() {
    // SAFETY: the postmaster loads libraries on its only thread; whoever hooked in before is called on.
    unsafe {
        let _ = NEXT.set(pg_sys::ProcessUtility_hook);
        pg_sys::ProcessUtility_hook = Some(make_way);
    }
}

/// Not guarded: an error of the command leaves through this frame, which holds nothing to drop.
unsafe extern "C-unwind" fn make_way(
    statement: *mut pg_sys::PlannedStmt,
    text: *const std::ffi::c_char,
    read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    receiver: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    // SAFETY: PostgreSQL passes a valid statement and gets all arguments back unchanged.
    unsafe {
        send_away((*statement).utilityStmt);
        let next = match NEXT.get() {
            Some(Some(next)) => *next,
            Some(None) | None => standard_ProcessUtility,
        };
        next(statement, text, read_only_tree, context, parameters, environment, receiver, completion);
    }
    let_in();
}

/// Sends workers away if the command needs their database to itself.
#[pg_guard]
unsafe extern "C-unwind" fn send_away(node: *mut pg_sys::Node) {
    // SAFETY: the node of a valid statement.
    unsafe {
        if let Some(database) = wanted_alone(node) {
            keep_away(database);
        }
        if drops_extension(node)
            && let Some(board) = board()
        {
            board.end_calls(pg_sys::MyDatabaseId);
        }
    }
}

/// The database that the command needs to itself, if the caller may run it.
unsafe fn wanted_alone(node: *mut pg_sys::Node) -> Option<pg_sys::Oid> {
    // SAFETY: the tag says what the node is.
    unsafe {
        let name = match (*node).type_ {
            pg_sys::NodeTag::T_DropdbStmt => (*node.cast::<pg_sys::DropdbStmt>()).dbname,
            pg_sys::NodeTag::T_AlterDatabaseStmt => (*node.cast::<pg_sys::AlterDatabaseStmt>()).dbname,
            pg_sys::NodeTag::T_RenameStmt => {
                let rename = node.cast::<pg_sys::RenameStmt>();
                if (*rename).renameType != pg_sys::ObjectType::OBJECT_DATABASE {
                    return None;
                }
                (*rename).subname
            }
            pg_sys::NodeTag::T_CreatedbStmt => template((*node.cast::<pg_sys::CreatedbStmt>()).options)?,
            _ => return None,
        };
        let database = pg_sys::get_database_oid(name, true);
        (database != pg_sys::InvalidOid && may_command(database)).then_some(database)
    }
}

/// Whether the command drops rea here, and the caller may: calls that run may hold locks on its tables for hours.
unsafe fn drops_extension(node: *mut pg_sys::Node) -> bool {
    // SAFETY: the tag says what the node is; DROP EXTENSION lists names as String nodes.
    unsafe {
        if (*node).type_ != pg_sys::NodeTag::T_DropStmt {
            return false;
        }
        let drop = node.cast::<pg_sys::DropStmt>();
        if (*drop).removeType != pg_sys::ObjectType::OBJECT_EXTENSION {
            return false;
        }
        let names = pgrx::PgList::<pg_sys::String>::from_pg((*drop).objects);
        let named = names.iter_ptr().any(|name| CStr::from_ptr((*name).sval) == c"rea");
        named && may_drop()
    }
}

fn may_drop() -> bool {
    // SAFETY: catalog look-ups inside the command's transaction.
    unsafe {
        let (role, extension) = (pg_sys::GetUserId(), pg_sys::get_extension_oid(c"rea".as_ptr(), true));
        if extension == pg_sys::InvalidOid {
            return false;
        }
        #[cfg(feature = "pg15")]
        let owns = pg_sys::pg_extension_ownercheck(extension, role);
        #[cfg(not(feature = "pg15"))]
        let owns = pg_sys::object_ownercheck(pg_sys::ExtensionRelationId, extension, role);
        owns || pg_sys::superuser()
    }
}

unsafe fn template(options: *mut pg_sys::List) -> Option<*const std::ffi::c_char> {
    // SAFETY: the options of CREATE DATABASE are a list of DefElem.
    unsafe {
        let options = pgrx::PgList::<pg_sys::DefElem>::from_pg(options);
        let option = options.iter_ptr().find(|option| CStr::from_ptr((**option).defname) == c"template")?;
        (!(*option).arg.is_null()).then(|| pg_sys::defGetString(option).cast_const())
    }
}

fn may_command(database: pg_sys::Oid) -> bool {
    // SAFETY: catalog look-ups inside the command's transaction.
    unsafe {
        let role = pg_sys::GetUserId();
        #[cfg(feature = "pg15")]
        let owns = pg_sys::pg_database_ownercheck(database, role);
        #[cfg(not(feature = "pg15"))]
        let owns = pg_sys::object_ownercheck(pg_sys::DatabaseRelationId, database, role);
        owns || pg_sys::superuser()
    }
}

fn keep_away(database: pg_sys::Oid) {
    let Some(board) = board() else { return };
    let at_work = |seat: &&Seat| {
        seat.database.load(Ordering::Acquire) == database.to_u32() && seat.state.load(Ordering::Acquire) != Seat::FREE
    };
    if !board.seats.iter().any(|seat| at_work(&seat)) {
        return;
    }
    wake::register();
    let_in();
    PLACE.set(board.keep_away(database));
    let until = Instant::now() + PATIENCE;
    while let Some(seat) = board.seats.iter().find(at_work) {
        board.end_calls(database);
        seat.process.wake();
        board.launcher.wake();
        if PLACE.get().is_none() || Instant::now() > until {
            break;
        }
        std::thread::sleep(STEP);
        pgrx::check_for_interrupts!();
    }
}

/// Lets the workers in again: the command has ended, or its transaction has.
pub fn let_in() {
    if let (Some(place), Some(board)) = (PLACE.take(), board()) {
        board.let_in(place);
    }
}
