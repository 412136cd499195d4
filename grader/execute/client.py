"""nbclient's notebook client, made fit for kernels that nobody trusts."""

import asyncio
from typing import Any

from nbclient import NotebookClient
from nbformat import NotebookNode

from grader.execute.manager import LOG
from grader.execute.session import KernelSession

OUTPUT_SECONDS = 30
"""How long what a cell has put out is waited for when the cell has ended. With nbclient's four
seconds a busy machine kept 2,000 of 3,000 lines."""


class CellClient(NotebookClient):  # type: ignore[misc]
    """Runs single cells of a notebook in a session's kernel.

    It never ends a cell by itself: errors are results, and time is the caller's matter. `failure`
    gets the exception that receiving a cell's output came to; `reply` is the last reply's content.
    """

    def __init__(self, notebook: NotebookNode, session: KernelSession) -> None:
        super().__init__(
            notebook,
            km=session.manager,
            log=LOG,
            allow_errors=True,
            timeout=None,
            iopub_timeout=OUTPUT_SECONDS,
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=False,  # nbclient's takes quadratic time on a long line
            skip_cells_with_tag="\0",  # no cell is skipped
            on_cell_executed=self._keep_reply,
        )
        self.kc = session.client
        self.widget_registry: dict[str, Any] = {}
        self.comm_open_handlers: dict[str, Any] = {}  # an output widget redirects outputs
        self.failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self.reply: dict[str, Any] = {}

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        """Take a message into the cell's outputs, but none that would change another cell's."""
        if msg["msg_type"] == "update_display_data" or msg["msg_type"].startswith("comm"):
            return None
        msg["content"].pop("transient", None)
        return super().process_message(msg, cell, cell_index)

    async def _async_poll_output_msg(
        self, parent_msg_id: str, cell: NotebookNode, cell_index: int
    ) -> None:
        try:
            await super()._async_poll_output_msg(parent_msg_id, cell, cell_index)
        except Exception as error:  # noqa: BLE001  nobody awaits this before the cell has ended
            if not self.failure.done():
                self.failure.set_result(error)

    def _keep_reply(self, execute_reply: dict[str, Any], **_: Any) -> None:
        self.reply = execute_reply["content"]
