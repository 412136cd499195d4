# %%
exit()
